#!/usr/bin/env python3
"""A worker in Python, as in docs/scan_job.md, against the same loop without a job.

The table has twelve columns, and rows of some 150 bytes; the loop reads all of them, a thousand rows at a time. Once
it does nothing else, and the job's calls are transactions of their own: that is the most that a job can cost. Once
it makes a digest of each row as JSON and writes it, and keeps its place in the transaction of the output: by job_next,
or by an UPDATE.
"""
import hashlib
import json
import os
import pathlib
import sqlite3
import statistics
import tempfile
import time

ROUNDS = 7
ROWS = 100_000
BUNDLE = 1_000
BY_HAND = f"SELECT * FROM events WHERE id > ? ORDER BY id LIMIT {BUNDLE}"
OF_BUNDLE = "SELECT e.* FROM job_rowids('job', ?) AS r CROSS JOIN events AS e ON e.id BETWEEN r.first AND r.last"
NEXT = f"SELECT job_next('job', ?, 'w', {BUNDLE}, 60)"
WRITE = "INSERT INTO out VALUES (?, ?)"


def digests(rows):
    return [(row[0], hashlib.sha256(json.dumps(row).encode()).hexdigest()) for row in rows]


def read_by_hand(db, _):
    last, seen = 0, True
    while seen:
        seen = False
        for row in db.execute(BY_HAND, [last]):
            last, seen = row[0], True


def read_by_job(db, bundle):
    while bundle is not None:
        for row in db.execute(OF_BUNDLE, [bundle]):
            last, seen = row[0], True
        bundle = db.execute(NEXT, [bundle]).fetchone()[0]
    return last, seen


def work_by_hand(db, _):
    last = 0
    while True:
        db.execute("BEGIN IMMEDIATE")
        output = digests(db.execute(BY_HAND, [last]))
        if output:
            db.executemany(WRITE, output)
            last = output[-1][0]
            db.execute("UPDATE place SET last = ?", [last])
        db.execute("COMMIT")
        if not output:
            return


def work_by_job(db, bundle):
    while bundle is not None:
        db.execute("BEGIN IMMEDIATE")
        db.executemany(WRITE, digests(db.execute(OF_BUNDLE, [bundle])))
        bundle = db.execute(NEXT, [bundle]).fetchone()[0]
        db.execute("COMMIT")


def seconds(db, loop):
    db.executescript("DROP TABLE IF EXISTS job; DROP TABLE IF EXISTS out; DROP TABLE IF EXISTS place;"
                     "CREATE TABLE out(id INTEGER PRIMARY KEY, digest TEXT);"
                     "CREATE TABLE place(last INTEGER); INSERT INTO place VALUES (0);"
                     "CREATE VIRTUAL TABLE job USING scan_job(events); PRAGMA wal_checkpoint(TRUNCATE);")
    first = db.execute(NEXT, [None]).fetchone()[0]  # what is done once for a job is not measured
    start = time.perf_counter()
    loop(db, first)
    return time.perf_counter() - start


def compare(db, what, ours, theirs, goal):
    times = [[], []]
    for _ in range(ROUNDS):
        for i, loop in enumerate((ours, theirs)):
            times[i].append(seconds(db, loop))
    here, there = (statistics.median(t) for t in times)
    print(f"{what}, {there / ROWS * 1e6:.1f} us a row\t{here * 1e3:.1f} ms\t{there * 1e3:.1f} ms\t"
          f"{here / there:.3f}\t{goal}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(pathlib.Path(folder) / "bench.db", isolation_level=None)
        db.enable_load_extension(True)
        db.load_extension(os.environ.get("TRANCHE", "./tranche"))
        db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;"
                         "CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT, at INTEGER, user INTEGER, country TEXT,"
                         " cost REAL, kind TEXT, session TEXT, page TEXT, seconds REAL, referrer TEXT, flags INTEGER)")
        db.execute("INSERT INTO events SELECT value + 1, printf('name %d', value), 1700000000 + value, value % 977, 'NZ',"
                   " value / 7.0, 'view', printf('%016x', value * 7919), printf('/a/page/%d', value % 313), value / 3.0,"
                   " 'https://example.org/search', value % 16 FROM counting_input(?)", [ROWS])
        compare(db, "a loop in Python that reads all columns, with a job", read_by_job, read_by_hand, "")
        compare(db, "the same, writing a digest of each row", work_by_job, work_by_hand, "<= 1.01")
        db.close()


main()
