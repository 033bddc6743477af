"""What docs/index.md lists must be what the extension registers, and each page must speak of it.

The index has one table row for each name: | [`name`](page.md) | ... |.
"""
import re

from .sql_scripts import run_shell

QUESTION = """
CREATE TEMP TABLE before AS SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list;
.load ./tranche
SELECT DISTINCT name FROM (SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list)
 WHERE name NOT IN (SELECT name FROM before) ORDER BY name;
"""
ROW = re.compile(r"^\| \[`(\w+)`\]\(([\w-]+\.md)?(?:#[\w-]+)?\) \|", re.M)


def run(setting, report, wanted):
    status, output, _ = run_shell(setting, setting.fresh_folder("names"), QUESTION)
    registered = set(output.split()) if status == 0 else set()
    index = setting.root / "docs" / "index.md"
    documented = dict(ROW.findall(index.read_text())) if index.exists() else {}
    problems = [] if registered else ["nothing is registered: " + output]
    problems += [f"{name} is registered and not in docs/index.md" for name in sorted(registered - set(documented))]
    problems += [f"{name} is in docs/index.md and not registered" for name in sorted(set(documented) - registered)]
    for name, page in sorted(documented.items()):
        path = setting.root / "docs" / (page or "index.md")
        if not path.exists():
            problems.append(f"{name}: {path.name} is missing")
        elif not re.search(rf"\b{name}\b", path.read_text()):
            problems.append(f"{name}: {path.name} does not mention it")
    good = len(registered & set(documented))
    report.add("names of docs/index.md", good, len(problems), None, [], "\n".join(problems))
