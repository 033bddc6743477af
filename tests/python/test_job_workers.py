"""The workers of sql/workers, as docs/scan_job.md shows them: several at once on one file, each row done once."""
import contextlib
import io
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKERS = ROOT / "sql" / "workers"
TRANCHE = pathlib.Path(os.environ.get("TRANCHE", ROOT / "tranche")).with_suffix(".so")
ROWS = 2000


def connect(path):
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(TRANCHE.with_suffix("")))
    return db


def why_not_node():
    """Why the Node worker cannot run here, or None. $BETTER_SQLITE3 may name a folder that has the package."""
    if shutil.which("node") is None:
        return "node is not installed"
    found = subprocess.run(["node", "-e", "require('better-sqlite3')(':memory:')"], capture_output=True, text=True,
                           cwd=os.environ.get("BETTER_SQLITE3", ROOT))
    if found.returncode != 0:
        reason = re.search(r"^Error: (.*)$", found.stderr, re.M)
        return "better-sqlite3: " + (reason.group(1) if reason else "it does not work here")
    return None


class Workers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "tranche.so").symlink_to(TRANCHE)
        self.path = self.folder / "work.db"
        db = connect(self.path)
        db.executescript(f"""
            PRAGMA journal_mode = WAL;
            CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO events SELECT value + 1, 'event ' || value FROM counting_input({ROWS});
            CREATE TABLE out(id INTEGER, name TEXT);
            CREATE VIRTUAL TABLE backfill USING scan_job(events, key(id), max_attempts(3));
        """)
        db.close()

    def run_workers(self, command, count=3, folder=None):
        running = [
            subprocess.Popen([*command, self.path], cwd=folder or self.folder, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True) for _ in range(count)
        ]
        for worker in running:
            output, _ = worker.communicate(timeout=120)
            self.assertEqual((worker.returncode, output), (0, ""))

    def check(self, rows=ROWS):
        db = connect(self.path)
        self.assertEqual(db.execute("SELECT count(*), count(DISTINCT id) FROM out").fetchone(), (rows, rows))
        self.assertEqual(db.execute("SELECT name FROM out WHERE id = 5").fetchone(), ("EVENT 4",))
        progress = db.execute("SELECT pending, claimed, failed FROM job_progress('backfill')").fetchone()
        db.close()
        return progress

    def test_python(self):
        self.run_workers([sys.executable, WORKERS / "worker.py"])
        self.assertEqual(self.check(), (0, 0, 0))

    def test_shell(self):
        self.run_workers(["bash", WORKERS / "worker.sh"], count=2)
        self.assertEqual(self.check(), (0, 0, 0))

    def test_node(self):
        reason = why_not_node()
        if reason:
            print(f"skipped: {reason}", file=sys.stderr)
            self.skipTest(reason)
        # A module is looked for beside the program.
        packages = pathlib.Path(os.environ.get("BETTER_SQLITE3", ROOT)) / "node_modules"
        (self.folder / "node_modules").symlink_to(packages)
        shutil.copy(WORKERS / "worker.mjs", self.folder)
        self.run_workers(["node", self.folder / "worker.mjs"])
        self.assertEqual(self.check(), (0, 0, 0))

    def test_a_row_that_cannot_be_done_ends_as_failed(self):
        for language, command in (("python", [sys.executable, WORKERS / "worker.py"]),
                                  ("shell", ["bash", WORKERS / "worker.sh"])):
            with self.subTest(language):
                db = connect(self.path)
                db.executescript("""
                    DROP TABLE backfill;
                    DROP TABLE out;
                    CREATE TABLE out(id INTEGER, name TEXT CHECK (name <> 'EVENT 1234'));
                    CREATE VIRTUAL TABLE backfill USING scan_job(events, key(id), max_attempts(2));
                """)
                db.close()
                process = subprocess.run([*command, self.path], cwd=self.folder, capture_output=True, text=True,
                                         timeout=120)
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertEqual(self.check(ROWS - 1), (0, 0, 1))
                db = connect(self.path)
                worker_message = db.execute("SELECT message FROM backfill_bundles WHERE state = 'failed'").fetchone()[0]
                db.close()
                self.assertRegex(worker_message, "CHECK constraint failed" if language == "python" else "shell-")

    def test_a_worker_goes_on_when_its_lease_was_lost(self):
        """Another worker takes the first bundle away between its claim and its output."""
        thief = connect(self.path)
        self.addCleanup(thief.close)
        stolen = []

        class Robbed(sqlite3.Connection):
            def execute(self, sql, *rest):
                if sql.startswith("BEGIN") and not stolen:
                    thief.execute("UPDATE backfill_bundles SET until = 0 WHERE state = 'claimed'")
                    stolen.append(thief.execute("SELECT job_claim('backfill', 'thief', 100, 60)").fetchone()[0])
                return super().execute(sql, *rest)

        def open_robbed(path, **options):
            return original(path, factory=Robbed, **options)

        original = sqlite3.connect
        source = (WORKERS / "worker.py").read_text().replace("./tranche", str(TRANCHE.with_suffix("")))
        complaints = io.StringIO()
        with unittest.mock.patch("sqlite3.connect", open_robbed), contextlib.redirect_stderr(complaints), \
                unittest.mock.patch("sys.argv", ["worker.py", str(self.path)]):
            names = {}
            exec(compile(source, "worker.py", "exec"), names)
            names["db"].close()
        self.assertEqual(complaints.getvalue().count("is claimed by worker 'thief'"), 2)
        thief.execute("BEGIN IMMEDIATE")
        thief.execute("INSERT INTO out SELECT id, upper(name) FROM backfill WHERE restriction = ?", stolen)
        thief.execute("SELECT job_done('backfill', ?)", stolen).fetchone()
        thief.execute("COMMIT")
        self.assertEqual(self.check(), (0, 0, 0))

    def test_the_page_shows_them_as_they_are(self):
        page = (ROOT / "docs" / "scan_job.md").read_text()
        shown = re.findall(r"\(\.\./sql/workers/(\S+)\)\):\n\n```\w+\n(.*?)^```$", page, re.M | re.S)
        self.assertEqual(sorted(name for name, _ in shown), ["worker.mjs", "worker.py", "worker.sh"])
        for name, text in shown:
            self.assertEqual(text, (WORKERS / name).read_text(), name)


if __name__ == "__main__":
    unittest.main()
