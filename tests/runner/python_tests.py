"""tests/python/test_*.py: unittest programs that load the extension through Python's sqlite3."""
import re


def run(setting, report, wanted):
    tests = sorted((setting.root / "tests" / "python").glob("test_*.py"))
    if wanted:
        tests = [test for test in tests if test.stem in wanted]
    if not tests:
        return
    python = setting.python()
    if python is None:
        report.skip("python", "no python3 whose sqlite3 module loads extensions")
        return
    for test in tests:
        status, output, seconds = setting.run([python, test], environment=setting.preloaded())
        ran = re.search(r"^Ran (\d+) test", output, re.M)
        wrong = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", output))
        failed = wrong or int(status != 0 or ran is None)
        skipped = sum(int(n) for n in re.findall(r"skipped=(\d+)", output))
        passed = max(int(ran.group(1)) - wrong - skipped, 0) if ran else 0
        report.add(f"python/{test.stem}", passed, failed, seconds, [], output)
        # A test that skips says so and why on a line of its own.
        for reason in re.findall(r"skipped: (.*)", output):
            report.skip(f"python/{test.stem}", reason)
