"""The same groups from DuckDB (PyPI's duckdb, if this Python has it; else nothing is said): it reads its own
file, where columns lie one by one and compressed, and so reads far less than whoever goes through rows.
A figure to know the distance by, not a goal."""
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
folder = pathlib.Path(os.environ.get("TMPDIR", "."))
TABLE = ("CREATE TABLE t AS SELECT {v} AS id, h % 10 AS g10, h % 1000 AS g1k, h % 1000000 AS g1m, "
         "'name of ' || (h % 1000) AS name, h % 12345 AS a, (h % 1000) / 8.0 AS r, "
         "printf('%050d', {v}) AS filler FROM (SELECT {v}, (({v} * 2654435761) >> 7) & 2147483647 AS h "
         "FROM {source})")
CASES = [
    ("10 integers: count, sum", "g10", "count(*) AS c, sum(a) AS s", "sum(c) + sum(s)"),
    ("1,000,000 integers: count, sum", "g1m", "count(*) AS c, sum(a) AS s", "sum(c) + sum(s)"),
    ("1,000 texts: count, sum, max of REAL", "name", "count(*) AS c, sum(a) AS s, max(r) AS m",
     "sum(c) + sum(s) + sum(m)"),
]


def timed(run, sql):
    began = time.monotonic()
    answer = run(sql)
    return time.monotonic() - began, answer


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
    for what, by, aggregates, sums in CASES:
        ours.execute(f"CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names({by}), {aggregates})")
        here, there = [], []
        for _ in range(TURNS):
            seconds, answer = timed(lambda sql: ours.execute(sql).fetchone(), f"SELECT count(*), {sums} FROM o")
            here.append(seconds)
            seconds, expected = timed(lambda sql: other.execute(sql).fetchone(),
                                      f"SELECT count(*), {sums} FROM (SELECT {by}, {aggregates} FROM t GROUP BY {by})")
            there.append(seconds)
            assert [float(x) for x in answer] == [float(x) for x in expected], (answer, expected)
        ours.execute("DROP TABLE temp.o")
        a, b = statistics.median(here), statistics.median(there)
        print(f"group by {what}; all cores, DuckDB {duckdb.__version__} from its own file\t"
              f"{a * 1000:.0f} ms\t{b * 1000:.0f} ms\t{a / b:.1f}\t", flush=True)
    ours.close()
    other.close()
    ours_path.unlink()
    other_path.unlink()


if __name__ == "__main__":
    main()
