#!/usr/bin/env python3
"""counting_input against the shell's generate_series: the plain loop, and what need not be counted.

Both run in one sqlite3 shell, in turns; the shell's own timer (seconds of CPU, to the microsecond) measures.
"""
import os
import re
import statistics
import subprocess

ROUNDS = 7
NUMBERS = 5_000_000
# (what, ours, the other, goal); {n} numbers each.
COMPARISONS = [
    ("count(*) of {n} numbers", "SELECT count(*) FROM counting_input({n})",
     "SELECT count(*) FROM generate_series(0, {n} - 1)", "<= 1.05"),
    ("sum(value) of {n} numbers", "SELECT sum(value) FROM counting_input({n})",
     "SELECT sum(value) FROM generate_series(0, {n} - 1)", "<= 1.05"),
    ("counting down {n} numbers", "SELECT count(*) FROM counting_input(0, {n}, -1)",
     "SELECT count(*) FROM generate_series(1, {n}, -1)", ""),
    ("10 numbers by range", "SELECT count(*) FROM counting_input({n}) WHERE value BETWEEN {n} - 20 AND {n} - 11",
     "SELECT count(*) FROM generate_series(0, {n} - 1) WHERE value BETWEEN {n} - 20 AND {n} - 11", "<= 0.01"),
    ("3 numbers by IN", "SELECT count(*) FROM counting_input({n}) WHERE value IN (1, {n} - 1, {n} / 2)",
     "SELECT count(*) FROM generate_series(0, {n} - 1) WHERE value IN (1, {n} - 1, {n} / 2)", "<= 0.01"),
    ("1 number by OFFSET", "SELECT value FROM counting_input({n}) LIMIT 1 OFFSET {n} - 1",
     "SELECT value FROM generate_series(0, {n} - 1) LIMIT 1 OFFSET {n} - 1", "<= 0.01"),
    ("max(value)", "SELECT max(value) FROM counting_input({n})", None, ""),
    ("1000 numbers joined on value",
     "SELECT count(*) FROM counting_input(1000) AS a JOIN counting_input({n}) AS b ON b.value = a.value", None, ""),
    ("claiming {n} numbers from a tracker",
     "SELECT count(*) FROM counting_input({n}) WHERE tracker = 'bench'; SELECT tracker_close('bench')",
     "SELECT count(*) FROM generate_series(0, {n} - 1)", ""),
]


def seconds(script):
    """What the timer printed behind each statement, in order."""
    done = subprocess.run(["sqlite3", "-batch", ":memory:"], input=script, capture_output=True, text=True, check=True)
    return [float(user) for user in re.findall(r"^Run Time: real \S+ user (\S+)", done.stdout, re.M)]


def timed(query):
    """The query between timers; a second statement is not timed."""
    first, _, rest = query.partition(";")
    return f".timer on\n{first};\n.timer off\n{rest + ';' if rest else ''}\n"


def main():
    script = f".load {os.environ.get('TRANCHE', './tranche')}\n"
    for _ in range(ROUNDS):
        for _, ours, other, _ in COMPARISONS:
            script += timed(ours.format(n=NUMBERS)) + (timed(other.format(n=NUMBERS)) if other else "")
    times = seconds(script)
    per_round = len(times) // ROUNDS
    medians = [statistics.median(times[i::per_round]) for i in range(per_round)]
    for what, _, other, goal in COMPARISONS:
        here = medians.pop(0)
        line = [what.format(n=f"{NUMBERS:,}"), f"{here * 1e3:.2f} ms", "", "", goal]
        if other:
            there = medians.pop(0)
            line[2:4] = [f"{there * 1e3:.2f} ms", f"{here / there:.3f}"]
        print("\t".join(line), flush=True)


main()
