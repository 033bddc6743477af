import { DatabaseSync } from "node:sqlite";
const db = new DatabaseSync(process.argv[2], { allowExtension: true, timeout: 30000 });
db.loadExtension("./tranche");
const worker = `node-${process.pid}`;
const next = db.prepare("SELECT job_next('backfill', ?, ?, 100, 60) AS bundle");
const output = db.prepare("INSERT INTO out SELECT id, upper(name) FROM backfill WHERE restriction = ?");
const fail = db.prepare("SELECT job_fail('backfill', ?, ?)");
for (let { bundle } = next.get(null, worker), following; bundle; bundle = following.bundle) {
  try {
    db.exec("BEGIN IMMEDIATE");
    output.run(bundle);
    following = next.get(bundle, worker);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    try { fail.get(bundle, error.message); } catch (lost) {
      console.error(`${error.message}\n${lost.message}`); // another worker has the bundle: go on
    }
    following = next.get(null, worker);
  }
}
