#!/bin/bash
worker="shell-$$"
run() { sqlite3 -bail -cmd '.timeout 30000' -cmd '.load ./tranche' "$1" "$2"; }
while bundle=$(run "$1" "SELECT job_claim('backfill', '$worker', 100, 60)") || exit 1; [ -n "$bundle" ]; do
  run "$1" "
    BEGIN IMMEDIATE;
    INSERT INTO out SELECT id, upper(name) FROM backfill WHERE restriction = '$bundle';
    SELECT job_done('backfill', '$bundle', '$worker');
    COMMIT;" >/dev/null ||
    run "$1" "SELECT job_fail('backfill', '$bundle', 'see the log of $worker', '$worker')"
done
