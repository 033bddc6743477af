"""Work that needs a processor for every row, shared by two processes: each scans one half that scan_splits
made with byte_key_scan. Beside it the same scan in one process. On a machine with two cores free the time
should halve."""
import multiprocessing
import os
import pathlib
import sqlite3
import statistics
import time

ROWS = int(os.environ.get("BENCH_ROWS", "1000000")) // 5
TURNS = 5
WORK = "SELECT sum(length(hex(zeroblob(1000 + id % 7)))), count(*) FROM temp.s"
path = pathlib.Path(os.environ.get("TMPDIR", ".")) / "bench_scan_processes.db"


def connect():
    db = sqlite3.connect(path)
    db.enable_load_extension(True)
    db.load_extension(os.environ["TRANCHE"])
    db.execute("CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)")
    return db


def scan(restriction):
    return connect().execute(WORK + " WHERE restriction = ?", (restriction,)).fetchone()


def main():
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.enable_load_extension(True)
    db.load_extension(os.environ["TRANCHE"])
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, filler TEXT)")
    db.execute("INSERT INTO t SELECT value, printf('%080d', value) FROM counting_input(?)", (ROWS,))
    db.commit()
    halves = [row[0] for row in db.execute("SELECT restriction FROM scan_splits('t', 2)")]
    db.close()
    one, two = [], []
    with multiprocessing.Pool(2) as pool:
        pool.map(scan, halves)
        for _ in range(TURNS):
            began = time.monotonic()
            whole = connect().execute(WORK).fetchone()
            one.append(time.monotonic() - began)
            began = time.monotonic()
            parts = pool.map(scan, halves, chunksize=1)
            two.append(time.monotonic() - began)
            assert whole == tuple(map(sum, zip(*parts)))
    alone, shared = statistics.median(one), statistics.median(two)
    print(f"a scan with work for each row; two processes, one process\t{shared * 1000:.0f} ms\t"
          f"{alone * 1000:.0f} ms\t{shared / alone:.3f}\t<= 0.6")
    path.unlink()


if __name__ == "__main__":
    main()
