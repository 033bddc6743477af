"""`make demo`'s script: runs to its end and says what must be true whatever the threads did."""

MUST_SAY = (
    "# Days on which no flight of the sample left Miami",
    "Every flight was read once, and worker 1 has claimed all that it kept.",
    "together 20,000 of 20,000",
    "│ nightly   │ 20000   │ 154078 │",
    "│ in one go │ 20000   │ 154078 │",
    "220 airports, 0 differences",
)


def run(setting, report, wanted):
    status, output, seconds = setting.run(["sql/demo/run"])
    missing = [text for text in MUST_SAY if text not in output]
    good = status == 0 and not missing
    why = f"exit status {status}, missing {missing}\n{output}"
    report.add("sql/demo", int(good), int(not good), seconds, [], why)
