"""Counts what passed and failed, and prints a line for each test as it ends."""
import threading


class Report:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.lock = threading.Lock()

    def add(self, name, passed, failed, seconds=None, notes=(), output=""):
        """One test program, script or page: its counts, remarks to show, and its output if it failed."""
        with self.lock:
            self.passed += passed
            self.failed += failed
            counts = f"{passed} passed" + (f", {failed} FAILED" if failed else "")
            took = "" if seconds is None else f"{seconds:6.1f} s"
            print(f"{'FAILED' if failed else 'ok    '} {name:<44} {counts:<20} {took}".rstrip(), flush=True)
            for note in notes:
                print(f"         {note}", flush=True)
            if failed and output:
                print("       | " + output.rstrip().replace("\n", "\n       | "), flush=True)

    def skip(self, name, why):
        """Something that cannot run here; said aloud, counted as neither."""
        with self.lock:
            print(f"skip   {name}: {why}", flush=True)

    def summary(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        if self.passed + self.failed == 0:
            print("no test was found", flush=True)
        return 0 if self.passed and not self.failed else 1
