"""The workers of sql/workers, as docs/scan_job.md shows them: several at once on one file, each row done once."""
import contextlib
import io
import os
import pathlib
import platform
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
NODE_VERSION = "24.22.3"  # what is fetched where the one at hand is too old
WITHOUT_WARNING = ["--disable-warning=ExperimentalWarning"]  # that of node:sqlite


def connect(path):
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(TRANCHE.with_suffix("")))
    return db


def works(node):
    """Whether this Node has an SQLite of its own, all that the worker asks of it."""
    program = "new (require('node:sqlite').DatabaseSync)(':memory:', {allowExtension: true}).isTransaction || process.exit(0)"
    return subprocess.run([node, "-e", program + "; process.exit(1)"], capture_output=True).returncode == 0


def fetch_node():
    """A Node out of the npm package that holds its program, kept in the build folder: (path, None) or (None, why)."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return None, f"no Node is fetched for {sys.platform} on {platform.machine()}"
    folder = TRANCHE.resolve().parent / f"node-{NODE_VERSION}"
    node = folder / "node"
    if node.exists():
        return str(node), None
    if shutil.which("npm") is None:
        return None, "npm is not installed"
    with tempfile.TemporaryDirectory(dir=TRANCHE.resolve().parent) as scratch:
        package = f"node-linux-{machine}@{NODE_VERSION}"
        packed = subprocess.run(["npm", "pack", "--silent", package], cwd=scratch, capture_output=True, text=True,
                                timeout=300)
        if packed.returncode != 0:
            return None, f"npm pack {package} failed: {packed.stderr.strip()[-200:]}"
        archive = pathlib.Path(scratch) / packed.stdout.strip()
        subprocess.run(["tar", "-xzf", archive, "package/bin/node"], cwd=scratch, check=True)
        folder.mkdir(exist_ok=True)
        os.replace(pathlib.Path(scratch) / "package" / "bin" / "node", node)
    return str(node), None


def find_node():
    """A Node that the worker runs in, $NODE or the one at hand if it is new enough: (path, None) or (None, why)."""
    at_hand = os.environ.get("NODE", shutil.which("node"))
    if at_hand is not None and works(at_hand):
        return at_hand, None
    node, why = fetch_node()
    if node is None:
        return None, f"node:sqlite needs Node 22.16 or newer, here is {at_hand or 'none'}; {why}"
    if not works(node):
        return None, f"{node} does not run here"
    return node, None


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

    def test_shell_fails_with_its_claim(self):
        db = connect(self.path)
        db.execute("DROP TABLE backfill")
        db.close()
        for path in (self.path, self.folder / "no" / "such.db"):
            worker = subprocess.run(["bash", WORKERS / "worker.sh", path], cwd=self.folder, capture_output=True,
                                    text=True, timeout=120)
            self.assertEqual((worker.returncode, worker.stdout), (1, ""))
            self.assertNotEqual(worker.stderr, "")

    def test_node(self):
        self.run_workers([self.need_node(), *WITHOUT_WARNING, WORKERS / "worker.mjs"])
        self.assertEqual(self.check(), (0, 0, 0))

    def need_node(self):
        node, why = find_node()
        if node is None:
            print(f"skipped: {why}", file=sys.stderr)
            self.skipTest(why)
        return node

    def test_a_row_that_cannot_be_done_ends_as_failed(self):
        for language, command in (("python", [sys.executable, WORKERS / "worker.py"]),
                                  ("node", ["node", *WITHOUT_WARNING, WORKERS / "worker.mjs"]),
                                  ("shell", ["bash", WORKERS / "worker.sh"])):
            with self.subTest(language):
                if language == "node":
                    command[0] = self.need_node()
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
                self.assertRegex(worker_message, "shell-" if language == "shell" else "CHECK constraint failed")

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
