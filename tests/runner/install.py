"""`make install` under a DESTDIR: what it puts there works and names no folder of the build, and uninstall leaves
nothing."""
import pathlib
import shutil


def run(setting, report, wanted):
    folder = setting.scratch / "install"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make = ["make", "-s", f"BUILD={setting.options.build}", f"CC={setting.options.cc}", f"DESTDIR={folder}", "PREFIX=/usr"]
    library = folder / "usr" / "lib"
    program = folder / "static_link"
    compile_program = [
        *setting.options.cc.split(), "-pthread", "-o", program, "tests/embed/static_link.c",
        f"-I{folder}/usr/include", f"-L{library}", "-ltranche", "-lcmocka", "-lsqlite3", "-lm",
    ]
    problems = []
    for what, command in {
        "install": [*make, "install"],
        "compile against it": compile_program,
        "run the program": [program],
        "load it": [setting.shell, ":memory:", "-cmd", f".load {library}/tranche", "SELECT tranche_version();"],
        "uninstall": [*make, "uninstall"],
    }.items():
        status, output, _ = setting.run(command)
        if status or (what == "load it" and "Error" in output):
            problems.append(f"{what}: {output}")
        if what == "install" and shutil.which("pkg-config") and not status:
            query = ["pkg-config", "--validate", library / "pkgconfig" / "tranche.pc"]
            status, output, _ = setting.run(query)
            if status:
                problems.append(f"pkg-config: {output}")
        if what == "install" and not status:
            here = str(pathlib.Path.cwd()).encode()
            named_in = [file.name for file in library.iterdir() if file.is_file() and here in file.read_bytes()]
            if named_in:
                problems.append(f"the folder of the build is named in {named_in}")
    left = [str(path) for path in (folder / "usr").rglob("*") if not path.is_dir()]
    if left:
        problems.append(f"uninstall left {left}")
    report.add("make install, uninstall", int(not problems), len(problems), None, [], "\n".join(problems))
