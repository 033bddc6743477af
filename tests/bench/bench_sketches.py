"""Sketches in SQL, on two workers, against the exact answers of plain SQLite, and against DuckDB over its own file.

Five million rows of some 100 bytes. The exact quantile is what plain SQL has for it: the column in order and the
row at the place; the exact distinct count is count(DISTINCT). DuckDB is compared where its package is there
(`build/interop/bin/pip install duckdb`).

The last lines say what a comparison with DuckDB can be. SQLite stores rows, so whoever reads one column goes through
all of the file; the bare scan (count(*) WHERE x IS NOT NULL, with two workers) is what no function can be faster
than. Where DuckDB needs less than that, the goal is out of reach for any function, and it says so.
"""
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = int(os.environ.get("BENCH_ROWS", 5_000_000))
ROUNDS = 5
INTEROP = pathlib.Path("build/interop/bin/python")

DUCKDB = """
import duckdb, statistics, sys, time
db = duckdb.connect(sys.argv[1])
db.execute("SET threads TO 2")
db.execute("SET enable_progress_bar = false")
db.execute(f'''CREATE TABLE t AS SELECT i AS id, hash(i) % 1000000 / 100.0 AS cost, hash(i * 7) % 1000000 AS user,
  'a text that fills the row up to some hundred bytes, ' || i AS filler FROM range({sys.argv[2]}) r(i)''')
db.execute("CHECKPOINT")
for question in ("approx_quantile(cost, 0.5)", "approx_count_distinct(user)"):
    times = []
    for _ in range(7):
        start = time.perf_counter()
        db.execute(f"SELECT {question} FROM t").fetchall()
        times.append(time.perf_counter() - start)
    print(statistics.median(times))
"""


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(os.environ["TRANCHE"])
    db.execute("PRAGMA mmap_size = 4000000000")
    return db


def make(db):
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, cost REAL, user INTEGER, filler TEXT)")
    db.execute("BEGIN")
    db.execute(
        "INSERT INTO t WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i + 1 < ?) "
        "SELECT i, (i * 7919 % 1000003) / 100.0, i * 104729 % 1000003, "
        "'a text that fills the row up to some hundred bytes, ' || i FROM r", (ROWS,))
    db.execute("COMMIT")


def grouped(db, name, aggregate):
    db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING group_by_fields(t, globally(), {aggregate} AS y, workers(2))")
    return f"SELECT y FROM {name}"


def seconds(db, sql):
    start = time.perf_counter()
    db.execute(sql).fetchall()
    return time.perf_counter() - start


def compare(db, what, ours, other, goal):
    """In turns; the exact side is slow, so it is taken three times."""
    here, there = [], []
    for i in range(ROUNDS):
        here.append(seconds(db, ours))
        if i % 2 == 0:
            there.append(seconds(db, other))
    here, there = statistics.median(here), statistics.median(there)
    print(f"{what}\t{here * 1e3:.0f} ms\t{there * 1e3:.0f} ms\t{here / there:.4f}\t{goal}", flush=True)
    return here


def duckdb_times(folder):
    if not INTEROP.exists():
        print("DuckDB is not compared: no build/interop", file=sys.stderr)
        return None
    done = subprocess.run([INTEROP, "-c", DUCKDB, folder + "/t.duckdb", str(ROWS)], capture_output=True, text=True)
    if done.returncode != 0:
        print("DuckDB is not compared:", done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    return [float(line) for line in done.stdout.split()]


def main():
    with tempfile.TemporaryDirectory() as folder:
        db = connect(folder + "/t.db")
        make(db)
        quantile = grouped(db, "q", "approx_quantile(cost, 0.5)")
        distinct = grouped(db, "d", "approx_count_distinct(user)")
        scan = grouped(db, "s", "count(cost)")
        ours = [
            compare(db, f"approx_quantile over {ROWS:,} rows, 2 workers, against the exact median in plain SQL",
                    quantile, f"SELECT cost FROM t ORDER BY cost LIMIT 1 OFFSET {ROWS // 2}", "<= 0.0167"),
            compare(db, f"approx_count_distinct over {ROWS:,} rows, 2 workers, against count(DISTINCT)",
                    distinct, "SELECT count(DISTINCT user) FROM t", "<= 0.0286"),
        ]
        theirs = duckdb_times(folder)
        if theirs is None:
            return
        bare = statistics.median(seconds(db, scan) for _ in range(ROUNDS))
        for name, here, there in zip(("approx_quantile", "approx_count_distinct"), ours, theirs):
            reachable = there >= bare
            goal = "<= 1.00" if reachable else f"out of reach: the bare scan is {bare * 1e3:.0f} ms"
            print(f"{name}, against DuckDB's over its own file\t{here * 1e3:.0f} ms\t{there * 1e3:.0f} ms\t"
                  f"{here / there:.2f}\t{goal}", flush=True)


main()
