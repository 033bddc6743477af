import Database from "better-sqlite3";
const db = new Database(process.argv[2], { timeout: 30000 });
db.loadExtension("./tranche");
const claim = db.prepare("SELECT job_claim('backfill', ?, 100, 60)").pluck();
const output = db.prepare("INSERT INTO out SELECT id, upper(name) FROM backfill WHERE restriction = ?");
const done = db.prepare("SELECT job_done('backfill', ?)");
const fail = db.prepare("SELECT job_fail('backfill', ?, ?)");
const work = db.transaction((bundle) => { output.run(bundle); done.get(bundle); });
for (let bundle; (bundle = claim.get(`node-${process.pid}`)); ) {
  try { work.immediate(bundle); } catch (error) {
    try { fail.get(bundle, error.message); } catch (lost) {
      console.error(`${error.message}\n${lost.message}`); // another worker has the bundle: go on
    }
  }
}
