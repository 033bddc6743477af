"""The extension in Python's sqlite3 module."""
import os
import sqlite3
import tempfile
import threading
import unittest


def connect(path=":memory:"):
    db = sqlite3.connect(path)
    db.enable_load_extension(True)
    db.load_extension(os.environ.get("TRANCHE", "./tranche"))
    db.enable_load_extension(False)
    return db


class Loading(unittest.TestCase):
    def test_it_is_there(self):
        db = connect()
        self.assertRegex(db.execute("SELECT tranche_version()").fetchone()[0], r"^\d+\.\d+\.\d+$")
        self.assertEqual(db.execute("SELECT offset_range(0, 4)").fetchall(), [('{"from":0,"to":4}',)])

    def test_utf16_is_known_before_the_first_statement(self):
        """Old SQLites took the literals of a statement for UTF-16 in its second run."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "utf16.db")
            db = connect(path)
            db.executescript("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(k INTEGER PRIMARY KEY);"
                             "INSERT INTO t SELECT value FROM counting_input(20);"
                             "CREATE VIRTUAL TABLE j USING scan_job(t)")
            self.assertEqual(db.execute("PRAGMA encoding").fetchone(), ("UTF-16le",))
            db.close()
            db = connect(path)
            for _ in range(3):
                self.assertEqual(len(db.execute("SELECT job_claim('j', 'worker-7', 2)").fetchall()), 1)
            workers = db.execute("SELECT DISTINCT worker FROM j_bundles WHERE state = 'claimed'").fetchall()
            self.assertEqual(workers, [("worker-7",)])
            db.close()

    def test_loading_must_be_allowed(self):
        db = sqlite3.connect(":memory:")
        with self.assertRaisesRegex(sqlite3.OperationalError, "not authorized"):
            db.execute("SELECT load_extension(?)", [os.environ.get("TRANCHE", "./tranche")])

    def test_errors_are_exceptions_with_the_text(self):
        db = connect()
        with self.assertRaisesRegex(sqlite3.OperationalError, "tracker_try_claim"):
            db.execute("SELECT tracker_try_claim('nobody', 1)").fetchone()

    def test_a_shared_tracker_is_seen_by_another_thread(self):
        db = connect()
        db.execute("SELECT tracker_open('shared:python', offset_range(0, 100))").fetchone()
        db.execute("SELECT tracker_try_claim('shared:python', 10)").fetchone()
        residuals = []

        def split():
            other = connect()
            residuals.extend(other.execute("SELECT tracker_try_split('shared:python', 0.5)").fetchone())
            other.close()

        thread = threading.Thread(target=split)
        thread.start()
        thread.join()
        self.assertEqual(len(residuals), 1)
        first = int(db.execute("SELECT ? ->> '$.from'", residuals).fetchone()[0])
        self.assertEqual(db.execute("SELECT tracker_try_claim('shared:python', ?)", [first - 1]).fetchone(), (1,))
        self.assertEqual(db.execute("SELECT tracker_try_claim('shared:python', ?)", [first]).fetchone(), (0,))

    def test_blobs_and_nulls_pass_through(self):
        db = connect()
        key = db.execute("SELECT byte_key(?, ?, ?)", [None, b"\0\1", "text"]).fetchone()[0]
        self.assertIsInstance(key, bytes)
        self.assertEqual(
            db.execute("SELECT value FROM byte_key_values(?) ORDER BY ordinal", [key]).fetchall(),
            [(None,), (b"\0\1",), ("text",)],
        )


unittest.main()
