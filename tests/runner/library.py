"""What the shared object needs and gives: one exported name, no SQLite of its own, nothing missing.

It must also load under other file names (SQLite guesses the entry point from them).
"""
import re

from .sql_scripts import run_shell

ENTRY = "sqlite3_tranche_init"


def exported(setting):
    _, output, _ = setting.run(["nm", "-D", "--defined-only", setting.tranche])
    names = {line.split()[-1] for line in output.splitlines()}
    return names == {ENTRY}, f"exports {sorted(names)}, not just {ENTRY}"


def needs(setting):
    _, output, _ = setting.run(["readelf", "-d", setting.tranche])
    needed = re.findall(r"NEEDED.*\[(.*?)\]", output)
    return "sqlite" not in str(needed) and "libm.so.6" in needed, f"needs {needed}"


def nothing_missing(setting):
    """Every undefined symbol is found in what it needs itself, libm included."""
    _, output, _ = setting.run(["ldd", "-r", setting.tranche])
    return "undefined symbol" not in output and "not found" not in output, output


def stays_loaded(setting):
    _, output, _ = setting.run(["readelf", "-d", setting.tranche])
    return "NODELETE" in output, output


def loads_as(file_name, load):
    def check(setting):
        folder = setting.fresh_folder("library", file_name)
        (folder / "tranche.so").rename(folder / file_name)
        _, output, _ = run_shell(setting, folder, f".load {load}\nSELECT tranche_version();\n")
        return re.fullmatch(r"\d+\.\d+\.\d+\n", output) is not None, f".load {load}: {output}"

    return check


def loads_by_absolute_path(setting):
    text = f".load {setting.environment['TRANCHE']}\nSELECT tranche_version();\n"
    _, output, _ = run_shell(setting, setting.scratch, text)
    return re.fullmatch(r"\d+\.\d+\.\d+\n", output) is not None, output


CHECKS = {
    "exports the entry point alone": exported,
    "links libm and no SQLite": needs,
    "has no undefined symbol": nothing_missing,
    "stays in the process once loaded": stays_loaded,
    "loads as ./tranche": loads_as("tranche.so", "./tranche"),
    "loads as ./tranche.so": loads_as("tranche.so", "./tranche.so"),
    "loads as ./libtranche.so": loads_as("libtranche.so", "./libtranche.so"),
    "loads as ./tranche-1.2.so with its entry named": loads_as("tranche-1.2.so", f"./tranche-1.2.so {ENTRY}"),
    "loads by absolute path": loads_by_absolute_path,
}


def run(setting, report, wanted):
    problems = []
    for what, check in CHECKS.items():
        good, why = check(setting)
        if not good:
            problems.append(f"not so: it {what}: {why}")
    report.add("library tranche.so", len(CHECKS) - len(problems), len(problems), None, [], "\n".join(problems))
