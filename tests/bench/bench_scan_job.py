#!/usr/bin/env python3
"""A worker in Python against the same loop without a job: how much work a row must be for a job to cost 1 %.

The tables have twelve columns, and rows of some 150 bytes; the loops read all of them, and make none, one, three or six
digests of each. Each bundle is a transaction, in which one calls job_next, and the other keeps its place by an UPDATE.
The two take turns, bundle by bundle. What is shown is the median of a bundle by hand, and that plus the median of the
differences. The time that is spent in digests is left out of the differences: it is the same on both sides, and varies
by more than a job costs.
"""
import hashlib
import json
import os
import pathlib
import sqlite3
import statistics
import tempfile
import time

ROUNDS = 5
ROWS = 50_000
BY_HAND = "SELECT * FROM others WHERE id > ? ORDER BY id LIMIT ?"
OF_BUNDLE = "SELECT e.* FROM job_rowids('job', ?) AS r CROSS JOIN events AS e ON e.id BETWEEN r.first AND r.last"
NEXT = "SELECT job_next('job', ?, 'w', ?, 60)"


def work(rows, digests):
    """Works on each row; the id of the last, and the seconds spent in digests."""
    spent = 0
    for row in rows:
        last = row[0]
        if digests:
            start = time.perf_counter()
            for _ in range(digests):
                hashlib.sha256(json.dumps(row).encode()).hexdigest()
            spent += time.perf_counter() - start
    return last, spent


def by_job(db, digests, size, bundle):
    """Works on a bundle; the next one, and the seconds spent in digests."""
    db.execute("BEGIN IMMEDIATE")
    _, spent = work(db.execute(OF_BUNDLE, [bundle]), digests)
    bundle = db.execute(NEXT, [bundle, size]).fetchone()[0]
    db.execute("COMMIT")
    return bundle, spent


def by_hand(db, digests, size, last):
    """The same, behind the row `last`; the last row of it."""
    db.execute("BEGIN IMMEDIATE")
    last, spent = work(db.execute(BY_HAND, [last, size]), digests)
    db.execute("UPDATE place SET last = ?", [last])
    db.execute("COMMIT")
    return last, spent


def loops(db, digests, size):
    """For each bundle the seconds with the job and by hand, and by how many they differ; each of the two first in turns."""
    db.executescript("DROP TABLE IF EXISTS job; CREATE VIRTUAL TABLE job USING scan_job(events);"
                     "PRAGMA wal_checkpoint(TRUNCATE);")
    places = [db.execute(NEXT, [None, size]).fetchone()[0], 0]
    times, differences = [], []
    while places[0] is not None:
        whole, bare = [0, 0], [0, 0]
        for i in (0, 1) if len(times) % 2 else (1, 0):
            start = time.perf_counter()
            places[i], spent = (by_job, by_hand)[i](db, digests, size, places[i])
            whole[i] = time.perf_counter() - start
            bare[i] = whole[i] - spent
        times.append(whole[1])
        differences.append(bare[0] - bare[1])
    return times, differences


def compare(db, digests, size, goal):
    times, differences = [], []
    for _ in range(ROUNDS):
        more = loops(db, digests, size)
        times += more[0]
        differences += more[1]
    there = statistics.median(times)
    here = there + statistics.median(differences)
    print(f"a loop in Python, {there / size * 1e6:.1f} us a row, bundles of {size:,}, with a job\t{here * 1e3:.3f} ms\t"
          f"{there * 1e3:.3f} ms\t{here / there:.3f}\t{goal}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(pathlib.Path(folder) / "bench.db", isolation_level=None)
        db.enable_load_extension(True)
        db.load_extension(os.environ.get("TRANCHE", "./tranche"))
        db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536")
        for table in ("events", "others"):
            db.execute(f"CREATE TABLE {table}(id INTEGER PRIMARY KEY, name TEXT, at INTEGER, user INTEGER, country TEXT,"
                       " cost REAL, kind TEXT, session TEXT, page TEXT, seconds REAL, referrer TEXT, flags INTEGER)")
        db.execute("INSERT INTO events SELECT value + 1, printf('name %d', value), 1700000000 + value, value % 977, 'NZ',"
                   " value / 7.0, 'view', printf('%016x', value * 7919), printf('/a/page/%d', value % 313), value / 3.0,"
                   " 'https://example.org/search', value % 16 FROM counting_input(?)", [ROWS])
        db.executescript("INSERT INTO others SELECT * FROM events;"
                         "CREATE TABLE place(last INTEGER); INSERT INTO place VALUES (0);")
        for digests, size, goal in ((0, 1_000, ""), (1, 1_000, ""), (3, 1_000, "<= 1.02"), (6, 1_000, "<= 1.01"),
                                    (0, 10_000, ""), (1, 10_000, "<= 1.02")):
            compare(db, digests, size, goal)
        db.close()


main()
