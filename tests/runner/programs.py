"""The C test programs: counts cmocka's cases; a program without cmocka is one test.

Programs run from the root, several at once. A fuzz target's replay is given its whole corpus.
"""
import concurrent.futures
import re

FOLDERS = ("unit", "replay", "host", "embed", "faults", "fuzz")
VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect", "--fair-sched=yes"]
HELGRIND = ["valgrind", "--quiet", "--tool=helgrind", "--error-exitcode=99", "--fair-sched=yes",
            "--suppressions=tests/helgrind.supp"]
# What starts threads, itself or by asking for workers.
THREADED = r"pthread|threads\.h|worker_pool\.h|workers\([0-9%]"


def sources(setting, wanted):
    for folder in FOLDERS:
        for source in sorted((setting.root / "tests" / folder).glob("*.c")):
            if folder == "fuzz" and not source.name.startswith("fuzz_"):
                continue
            if wanted and source.stem not in wanted:
                continue
            if setting.options.threaded and not re.search(THREADED, source.read_text()):
                continue
            if (setting.options.valgrind or setting.options.helgrind) and "not under valgrind" in source.read_text():
                continue
            yield folder, source


def count(status, output):
    """(passed, failed) of a program's output; a crash after all cases passed is a failure too."""
    passed = sum(int(n) for n in re.findall(r"^\[  PASSED  \] (\d+) test", output, re.M))
    failed = sum(int(n) for n in re.findall(r"^\[  FAILED  \] (\d+) test", output, re.M))
    if passed + failed == 0:
        return (1, 0) if status == 0 else (0, 1)
    return passed, failed or (1 if status else 0)


def run_one(setting, report, folder, source):
    command = [setting.build / "tests" / folder / source.stem]
    if folder == "fuzz":
        command[0] = command[0].with_name(source.stem + "_replay")
        corpus = setting.root / "tests" / "fuzz" / "corpus" / source.stem.removeprefix("fuzz_")
        command += sorted(corpus.glob("*"))
    if setting.options.valgrind:
        command = VALGRIND + command
    if setting.options.helgrind:
        command = HELGRIND + command
    status, output, seconds = setting.run(command)
    passed, failed = count(status, output)
    if status:
        output += f"\nexit status {status}"
    notes = []
    if folder in ("replay", "fuzz") and not failed:
        notes = [line for line in output.splitlines() if line and not line.startswith("[")]
    report.add(f"{folder}/{source.stem}", passed, failed, seconds, notes, output)


def run(setting, report, wanted):
    with concurrent.futures.ThreadPoolExecutor(setting.options.jobs) as pool:
        tasks = [pool.submit(run_one, setting, report, *one) for one in sources(setting, wanted)]
        for task in tasks:
            task.result()
