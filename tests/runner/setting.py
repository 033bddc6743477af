"""Where things are in this run: the build, the sqlite3 shell, a Python that loads extensions."""
import os
import pathlib
import shutil
import subprocess
import time


class Setting:
    def __init__(self, options):
        self.options = options
        self.root = pathlib.Path.cwd()
        self.build = self.root / options.build
        self.tranche = self.build / "tranche.so"
        self.shell = shutil.which("sqlite3") or "sqlite3"
        self.scratch = self.build / "scratch"
        (self.scratch / "tmp").mkdir(parents=True, exist_ok=True)
        # One environment for all: no locale, no start-up files, nothing outside the build folder.
        self.environment = dict(
            os.environ,
            LC_ALL="C.UTF-8",
            TZ="UTC",
            HOME=str(self.scratch),
            TMPDIR=str(self.scratch / "tmp"),
            SQLITE_TMPDIR=str(self.scratch / "tmp"),
            SQLITE_HISTORY="/dev/null",
            PYTHONDONTWRITEBYTECODE="1",
            TRANCHE=str(self.tranche.with_suffix("")),
        )
        if options.sqlite:
            self.environment["LD_LIBRARY_PATH"] = str(self.root / options.sqlite)

    def fresh_folder(self, *parts):
        """An empty folder in which ./tranche and sql/ resolve, as they do in the root."""
        folder = self.scratch.joinpath(*parts)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "tranche.so").symlink_to(self.tranche)
        (folder / "sql").symlink_to(self.root / "sql")
        return folder

    def preloaded(self):
        """The environment for a program that loads an instrumented extension."""
        if not self.options.preload:
            return self.environment
        return dict(self.environment, LD_PRELOAD=self.options.preload, ASAN_OPTIONS="detect_leaks=0")

    def run(self, command, folder=None, text="", environment=None, timeout=600):
        """(exit status, stdout and stderr as one text, seconds). A timeout is status 124."""
        began = time.monotonic()
        try:
            done = subprocess.run(
                [str(part) for part in command],
                cwd=folder or self.root,
                input=text.encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment or self.environment,
                timeout=timeout,
            )
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, output = 124, (late.stdout or b"") + f"\nno end after {timeout} s".encode()
        return status, output.decode(errors="backslashreplace"), time.monotonic() - began

    def python(self):
        """A Python whose sqlite3 module can load extensions, or None."""
        check = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
        for candidate in ("/usr/bin/python3", shutil.which("python3")):
            if candidate and os.path.exists(candidate):
                if self.run([candidate, "-c", check])[0] == 0:
                    return candidate
        return None
