"""Sketches in SQL, on two workers, against the exact answers of plain SQLite, and against DuckDB over its own file.

Five million rows of some 80 bytes. The exact quantile is what plain SQL has for it: the column in order and the
row at the place; the exact distinct count is count(DISTINCT).

How long count(DISTINCT) takes is a matter of the column: it keeps all values in a B-tree, and that is quick where
each comes near one that came just before, slow where they come in no order, and cheap where they are few. So
there are columns of each kind: integers that go up in steps and begin anew, integers in no order, few and many,
short text. approx_count_distinct takes about as long for all of them.

SQLite stores rows, so whoever reads one column goes through all of the file; the bare scan (count(x), with two
workers, in turns with the others) is what no function can be faster than. Each side is timed right behind an untimed
bare scan: the exact answers take seconds, in which a virtual machine's host may take memory away that nobody touches,
and whoever came behind them would pay for having it back. Where the goal is less than that (of few
distinct values count(DISTINCT) itself is little more than a scan), it is out of reach for any function, and the line says
so. So do the last lines, of DuckDB; `make bench` sees to the package, and where it cannot be had, they are left out.
"""
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = int(os.environ.get("BENCH_ROWS", 5_000_000))
ROUNDS = 5

# What is counted: the column, and its kind in words.
DISTINCT = [
    ("t", "user", "integers in steps"),
    ("mixed", "few", "integers in no order"),
    ("mixed", "some", "integers in no order"),
    ("mixed", "every", "integers in no order"),
    ("mixed", "name", "short text in no order"),
    ("mixed", "word", "short text in no order"),
]

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
    db.execute(
        "INSERT INTO t WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i + 1 < ?) "
        "SELECT i, (i * 7919 % 1000003) / 100.0, i * 104729 % 1000003, "
        "'a text that fills the row up to some hundred bytes, ' || i FROM r", (ROWS,))
    make_mixed(db)


def make_mixed(db):
    """32 bits of i, multiplied by odd numbers and turned about in between, which loses none of them."""
    turned = "(((x >> 16) | (x << 16)) & 0xffffffff)"
    db.execute("CREATE TABLE mixed(id INTEGER PRIMARY KEY, few INTEGER, some INTEGER, every INTEGER, name TEXT, "
               "word TEXT, filler TEXT)")
    db.execute(
        "INSERT INTO mixed WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i + 1 < ?), "
        "a(i, x) AS (SELECT i, i * 0x9e3779b1 & 0xffffffff FROM r), "
        f"b(i, x) AS (SELECT i, {turned} * 0x2c1b3c6d & 0xffffffff FROM a), "
        f"c(i, x) AS (SELECT i, {turned} * 0x297a2d39 & 0xffffffff FROM b), "
        f"d(i, x) AS (SELECT i, {turned} * 0x1b56c4e9 & 0xffffffff FROM c) "
        "SELECT i, x % 1000, x % 1000000, x, 'name ' || (x % 1000), 'word ' || x, 'a text that fills the row, ' || i "
        "FROM d", (ROWS,))


def grouped(db, name, aggregate, table="t"):
    db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING "
               f"group_by_fields({table}, globally(), {aggregate} AS y, workers(2))")
    return f"SELECT y FROM {name}"


def timed(db, sql):
    """Seconds, and the value that came."""
    start = time.perf_counter()
    value = db.execute(sql).fetchone()[0]
    return time.perf_counter() - start, value


def goal_of(ratio, there, bare):
    """A ratio as a goal, or why it cannot be one."""
    return f"<= {ratio}" if bare <= ratio * there else f"out of reach: the bare scan is {bare * 1e3:.0f} ms"


def compare(db, what, ours, bare, other, goal):
    """In turns; the exact side is slow, so it is taken three times. `what` may say {exact}. Ours and the scan."""

    def timed_warm(sql):
        timed(db, bare)
        return timed(db, sql)

    here, scan, there = [], [], []
    for i in range(ROUNDS):
        here.append(timed_warm(ours)[0])
        scan.append(timed_warm(bare)[0])
        if i % 2 == 0:
            took, exact = timed_warm(other)
            there.append(took)
    here, scan, there = statistics.median(here), statistics.median(scan), statistics.median(there)
    print(f"{what.format(exact=exact)}\t{here * 1e3:.0f} ms\t{there * 1e3:.0f} ms\t{here / there:.4f}\t"
          f"{goal_of(goal, there, scan)}", flush=True)
    return here, scan


def duckdb_times(folder):
    done = subprocess.run([sys.executable, "-c", DUCKDB, folder + "/t.duckdb", str(ROWS)], capture_output=True,
                          text=True)
    if done.returncode != 0:
        print("DuckDB is not compared:", done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    return [float(line) for line in done.stdout.split()]


def main():
    with tempfile.TemporaryDirectory() as folder:
        db = connect(folder + "/t.db")
        make(db)
        os.sync()  # else the kernel writes the file while the first line is measured
        ours = [
            compare(db, f"approx_quantile over {ROWS:,} rows, 2 workers, against the exact median in plain SQL",
                    grouped(db, "q", "approx_quantile(cost, 0.5)"), grouped(db, "s", "count(cost)"),
                    f"SELECT cost FROM t ORDER BY cost LIMIT 1 OFFSET {ROWS // 2}", 0.0167),
        ]
        for table, column, kind in DISTINCT:
            what = f"approx_count_distinct over {ROWS:,} rows, 2 workers, against count(DISTINCT): {kind}"
            ours.append(compare(db, what + ", {exact:,} distinct",
                                grouped(db, f"d_{column}", f"approx_count_distinct({column})", table),
                                grouped(db, f"s_{column}", f"count({column})", table),
                                f"SELECT count(DISTINCT {column}) FROM {table}", 0.0286))
        theirs = duckdb_times(folder)
        if theirs is None:
            return
        for name, (here, bare), there in zip(("approx_quantile", "approx_count_distinct"), ours, theirs):
            print(f"{name}, against DuckDB's over its own file\t{here * 1e3:.0f} ms\t{there * 1e3:.0f} ms\t"
                  f"{here / there:.2f}\t{goal_of(1.0, there, bare)}", flush=True)


main()
