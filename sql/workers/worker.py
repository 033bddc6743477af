import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
db.enable_load_extension(True)
db.load_extension("./tranche")
claim = "SELECT job_claim('backfill', ?, 100, 60)"
while bundle := db.execute(claim, [f"python-{os.getpid()}"]).fetchone()[0]:
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO out SELECT id, upper(name) FROM backfill WHERE restriction = ?", [bundle])
        db.execute("SELECT job_done('backfill', ?)", [bundle]).fetchone()
        db.execute("COMMIT")
    except sqlite3.Error as error:
        if db.in_transaction: db.execute("ROLLBACK")
        try:
            db.execute("SELECT job_fail('backfill', ?, ?)", [bundle, str(error)]).fetchone()
        except sqlite3.Error as lost:  # the lease ran out, and another worker has the bundle: go on
            print(error, lost, sep="\n", file=sys.stderr)
