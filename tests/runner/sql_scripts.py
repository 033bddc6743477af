"""tests/sql/NAME.sql, run by the stock sqlite3 shell, must print NAME.out (errors included). So must
the scripts in sql/ and sql/examples/.

A script is something a person could paste into `sqlite3` in the root: it begins with
`.load ./tranche`. Each runs in a fresh folder where that works.
"""
import concurrent.futures
import difflib
import re


def run_shell(setting, folder, text, timeout=300):
    return setting.run([setting.shell, "-batch"], folder, text, setting.preloaded(), timeout)


def comparable(setting, text):
    """Releases of SQLite print REALs with 15 or 17 digits: with another than the system's, only 15 count."""
    if not setting.options.sqlite:
        return text

    def shorten(number):
        return f"{float(number.group()):.15g}"

    return re.sub(r"-?\d+\.\d+(e[+-]\d+)?", shorten, text)


def difference(expected, actual, name):
    lines = difflib.unified_diff(
        expected.splitlines(), actual.splitlines(), f"{name} expected", f"{name} printed", lineterm=""
    )
    return "\n".join(lines) or "they differ in white space at the end of lines"


def run_one(setting, report, script):
    folder = setting.fresh_folder("sql", script.stem)
    status, output, seconds = run_shell(setting, folder, script.read_text())
    out = script.with_suffix(".out")
    if setting.options.accept:
        out.write_text(output)
        report.add(f"sql/{script.stem}", 1, 0, seconds, [f"wrote {out.relative_to(setting.root)}"])
        return
    expected = out.read_text() if out.exists() else ""
    # The shell's own status only says that some statement failed, which the output shows anyway; a
    # crash is a negative one.
    good = out.exists() and comparable(setting, output) == comparable(setting, expected) and 0 <= status < 124
    why = f"exit status {status}"
    if output != expected:
        why = difference(comparable(setting, expected), comparable(setting, output), script.stem)
    report.add(f"sql/{script.stem}", int(good), int(not good), seconds, [], why)


def run(setting, report, wanted):
    folders = ("tests/sql", "sql", "sql/examples")
    scripts = [script for folder in folders for script in sorted((setting.root / folder).glob("*.sql"))]
    if wanted:
        scripts = [script for script in scripts if script.stem in wanted]
    with concurrent.futures.ThreadPoolExecutor(setting.options.jobs) as pool:
        for task in [pool.submit(run_one, setting, report, script) for script in scripts]:
            task.result()
