"""The C test programs: counts cmocka's cases; a program without cmocka is one test.

Programs run from the root, several at once. A fuzz target's replay is given its whole corpus.
"""
import concurrent.futures
import re

FOLDERS = ("unit", "replay", "host", "embed", "faults", "fuzz")
VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect", "--fair-sched=yes"]
# Without the history of the other side of a race, which takes most of the time; a race is found all the same.
HELGRIND = ["valgrind", "--quiet", "--tool=helgrind", "--error-exitcode=99", "--fair-sched=yes",
            "--history-level=none", "--suppressions=tests/helgrind.supp"]
# A program of these folders holds the extension, which may ask for workers in any query; another has threads if
# it says so itself.
WITH_EXTENSION = ("host", "embed", "faults")
THREADS = r"pthread|threads\.h|worker_pool\.h"
# What a tool cannot sensibly run, and why: {tool: {"folder/program": reason}}. Each is said aloud in every run.
LEFT_OUT = {
    "valgrind": {},
    "helgrind": {},
    "threaded": {},
}


def has_threads(folder, source):
    return folder in WITH_EXTENSION or re.search(THREADS, source.read_text()) is not None


def sources(setting, report, wanted):
    left_out, alone = {}, []
    for tool in LEFT_OUT:
        if getattr(setting.options, tool):
            left_out |= LEFT_OUT[tool]
    for folder in FOLDERS:
        for source in sorted((setting.root / "tests" / folder).glob("*.c")):
            if folder == "fuzz" and not source.name.startswith("fuzz_"):
                continue
            if wanted and source.stem not in wanted:
                continue
            name = f"{folder}/{source.stem}"
            if name in left_out:
                report.skip(name, left_out[name])
            elif setting.options.threaded and not has_threads(folder, source):
                alone.append(name)
            else:
                yield folder, source
    if alone:
        report.skip(f"{len(alone)} programs that have one thread", ", ".join(alone))


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
        tasks = [pool.submit(run_one, setting, report, *one) for one in sources(setting, report, wanted)]
        for task in tasks:
            task.result()
