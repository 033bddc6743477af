"""The examples in README.md and docs/*.md, run as they stand.

A ```sql block is fed to the sqlite3 shell; all of one page, in order, in one session that has loaded
tranche. The ```text block that follows is what it must print; without one it must print nothing.
A ```sh, ```python or ```c block with a ```text block behind it is run alone in the page's folder.
"```sql no-run" is only shown, as are the other languages without a ```text block.
"""
import dataclasses
import re
import shutil

from .sql_scripts import comparable, difference, run_shell

FENCE = re.compile(r"^```(\w*)( [\w -]+)?\n(.*?)^```\n", re.M | re.S)
MARK = "-- end of example --"


@dataclasses.dataclass
class Example:
    language: str
    code: str
    line: int
    expected: str = ""
    output_at: tuple = None  # where the expected text stands in the page
    printed: str = ""


def examples_of(page):
    """The examples of a page; a block and its ```text stand apart by blank lines at most."""
    found = []
    previous_end = None
    for fence in FENCE.finditer(page):
        language, options, code = fence.group(1), (fence.group(2) or "").split(), fence.group(3)
        adjacent = previous_end is not None and not page[previous_end:fence.start()].strip()
        if language == "text" and found and adjacent and found[-1].output_at is None:
            found[-1].expected = code
            found[-1].output_at = fence.span(3)
        previous_end = fence.end()
        if language in ("sql", "sh", "python", "c") and "no-run" not in options:
            found.append(Example(language, code, page.count("\n", 0, fence.start()) + 1))
        elif language != "text":
            previous_end = None
    return [one for one in found if one.language == "sql" or one.output_at]


def run_sql(setting, folder, examples):
    """One shell session for all; what each printed is cut out between marks."""
    text = ".load ./tranche\n"
    for example in examples:
        text += f"{example.code}\n.print '{MARK}'\n"
    _, output, _ = run_shell(setting, folder, text)
    pieces = output.split(MARK + "\n")
    for i, example in enumerate(examples):
        example.printed = pieces[i] if i < len(pieces) else "the session ended before this"
    if len(pieces) > len(examples) and pieces[len(examples)]:
        examples[-1].printed += pieces[len(examples)]


def run_alone(setting, folder, example):
    if example.language == "sh":
        command = ["bash", "-c", example.code]
    elif example.language == "python":
        command = [setting.python() or "python3", "-c", example.code]
    else:
        (folder / "example.c").write_text(example.code)
        build = [*setting.options.cc.split(), "-I", setting.root / "ext", "-o", "example", "example.c"]
        libraries = [setting.build / "libtranche.a", "-lsqlite3", "-lm", "-pthread"]
        status, example.printed, _ = setting.run(build + libraries, folder)
        if status:
            return
        command = ["./example"]
    # A C example has the sanitizer's library in itself.
    environment = setting.environment if example.language == "c" else setting.preloaded()
    _, example.printed, _ = setting.run(command, folder, environment=environment)


def accept(path, page, examples):
    for example in reversed(examples):
        if example.output_at:
            start, end = example.output_at
            page = page[:start] + example.printed + page[end:]
    path.write_text(page)


def run_page(setting, report, path):
    page = path.read_text()
    examples = examples_of(page)
    if not examples:
        return
    folder = setting.fresh_folder("docs", path.stem)
    in_shell = [one for one in examples if one.language == "sql"]
    if in_shell:
        run_sql(setting, folder, in_shell)
    for example in examples:
        if example.language != "sql":
            run_alone(setting, folder, example)
    name = str(path.relative_to(setting.root))
    if setting.options.accept:
        accept(path, page, examples)
    wrong = [
        one for one in examples
        if comparable(setting, one.printed) != comparable(setting, one.expected)
    ]
    if setting.options.accept:
        wrong = [one for one in wrong if not one.output_at]
    output = "\n".join(
        difference(one.expected, one.printed, f"{name} line {one.line}") for one in wrong
    )
    report.add(name, len(examples) - len(wrong), len(wrong), None, [], output)


def run(setting, report, wanted):
    pages = [setting.root / "README.md", *sorted((setting.root / "docs").glob("*.md"))]
    shutil.rmtree(setting.scratch / "docs", ignore_errors=True)
    for path in pages:
        if path.exists() and (not wanted or path.stem in wanted):
            run_page(setting, report, path)
