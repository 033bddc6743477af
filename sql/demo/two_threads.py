"""The same with two threads that really run at once: the second takes work from the first until none is left."""
import sqlite3
import sys
import threading


def connect():
    db = sqlite3.connect(sys.argv[1], isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension("./tranche")
    db.execute("CREATE VIRTUAL TABLE temp.scan USING byte_key_scan(flights, columns(id, delay))")
    return db


total = connect().execute("SELECT count(*) FROM flights").fetchone()[0]
rows = {"thread 1": 0, "thread 2": 0}
splits = 0
started = threading.Event()


def read(db, worker, sql, values):
    for _ in db.execute(sql, values):
        rows[worker] += 1
        if rows["thread 1"] == 100:
            started.set()


def first():
    db = connect()
    read(db, "thread 1", "SELECT id, delay FROM scan WHERE tracker = 'shared:threads'", [])
    finished.wait()  # The tracker closes with its connection: keep it until thread 2 has asked for the last time.
    db.close()


def second():
    global splits
    db = connect()
    started.wait()
    while True:
        (residual,) = db.execute("SELECT tracker_try_split('shared:threads', 0.5)").fetchone()
        if residual is None:
            break
        splits += 1
        read(db, "thread 2", "SELECT id, delay FROM scan WHERE restriction = ?", [residual])
    finished.set()
    db.close()


finished = threading.Event()
threads = [threading.Thread(target=first), threading.Thread(target=second)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

print("\n-- the same with two threads of one Python program (sql/demo/two_threads.py)")
print(f"thread 1 read {rows['thread 1']:,} flights, thread 2 took work {splits} times and read "
      f"{rows['thread 2']:,}: together {sum(rows.values()):,} of {total:,}")
sys.exit(sum(rows.values()) != total)
