"""The same groups from DuckDB (PyPI's duckdb, if this Python has it; else nothing is said): it reads its own
file, where columns lie one by one and compressed, and so reads far less than whoever goes through rows.
A figure to know the distance by, not a goal. Both have as many threads as the line says.

BENCH_ROWS sets the number of rows, which are those of bench_parallel_group.c."""
import os
import pathlib
import sqlite3
import statistics
import sys
import time

try:
    import duckdb
except ImportError:
    sys.exit(0)

ROWS = int(os.environ.get("BENCH_ROWS", "5000000"))
TURNS = 5
THREADS = (1, 2)
folder = pathlib.Path(os.environ.get("TMPDIR", "."))
TABLE = ("CREATE TABLE t AS SELECT {v} AS id, h % 10 AS g10, h % 1000 AS g1k, h % 1000000 AS g1m, "
         "'name of ' || (h % 1000) AS name, h % 12345 AS a, (h % 1000) / 8.0 AS r, "
         "printf('%050d', {v}) AS filler FROM (SELECT {v}, (({v} * 2654435761) >> 7) & 2147483647 AS h "
         "FROM {source})")
# What, keys, our aggregates, what is made of them, DuckDB's aggregates (None: the same), what is made of those.
CASES = [
    ("10 integers: count, sum", "g10", "count(*) AS c, sum(a) AS s", "sum(c) + sum(s)", None, None),
    ("1,000 integers: count, sum", "g1k", "count(*) AS c, sum(a) AS s", "sum(c) + sum(s)", None, None),
    ("1,000,000 integers: count, sum", "g1m", "count(*) AS c, sum(a) AS s", "sum(c) + sum(s)", None, None),
    ("1,000 texts: count, sum, max of REAL", "name", "count(*) AS c, sum(a) AS s, max(r) AS m",
     "sum(c) + sum(s) + sum(m)", None, None),
    ("1,000 integers: mean", "g1k", "mean(a) AS m", "round(sum(m), 3)", "avg(a) AS m", None),
    ("1,000 integers: top 100", "g1k", "top_largest(a, 100) AS t", "sum(json_array_length(t))",
     "max(a, 100) AS t", "sum(len(t))"),
]


def timed(run, sql):
    began = time.monotonic()
    answer = run(sql).fetchone()
    return time.monotonic() - began, [float(x) for x in answer]


def compare(ours, other, case, threads):
    what, by, aggregates, sums, other_aggregates, other_sums = case
    ours.execute(f"CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names({by}), {aggregates}, "
                 f"workers({threads}))")
    other.execute(f"SET threads = {threads}")
    here, there = [], []
    for _ in range(TURNS):
        seconds, answer = timed(ours.execute, f"SELECT count(*), {sums} FROM o")
        here.append(seconds)
        seconds, expected = timed(other.execute, f"SELECT count(*), {other_sums or sums} FROM (SELECT {by}, "
                                                 f"{other_aggregates or aggregates} FROM t GROUP BY {by})")
        there.append(seconds)
        assert answer == expected, (what, answer, expected)
    ours.execute("DROP TABLE temp.o")
    a, b = statistics.median(here), statistics.median(there)
    print(f"group by {what}; {threads} worker{'s' if threads > 1 else ''}; DuckDB {duckdb.__version__} "
          f"from its own file\t{a * 1000:.0f} ms\t{b * 1000:.0f} ms\t{a / b:.1f}\t", flush=True)


def main():
    ours_path, other_path = folder / "bench_duckdb.sqlite", folder / "bench_duckdb.duckdb"
    for path in (ours_path, other_path):
        path.unlink(missing_ok=True)
    ours = sqlite3.connect(ours_path)
    ours.enable_load_extension(True)
    ours.load_extension(os.environ["TRANCHE"])
    ours.execute("PRAGMA synchronous = off")
    ours.execute(TABLE.format(v="value", source=f"counting_input({ROWS})"))
    ours.commit()
    other = duckdb.connect(str(other_path))
    other.execute(TABLE.format(v="value", source=f"range({ROWS}) AS n(value)"))
    other.execute("CHECKPOINT")
    for case in CASES:
        for threads in THREADS:
            compare(ours, other, case, threads)
    ours.close()
    other.close()
    ours_path.unlink()
    other_path.unlink()


if __name__ == "__main__":
    main()
