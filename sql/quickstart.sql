-- The first minute: in the root, after `make`, run `sqlite3` and paste this.
.load ./tranche

CREATE TABLE purchases(id INTEGER PRIMARY KEY, user TEXT, country TEXT, cost INTEGER);
INSERT INTO purchases(user, country, cost)
  SELECT 'user ' || (value * 7 % 50), substr('NZTRPENO', 1 + value * 5 % 4 * 2, 2), value * value % 20011
    FROM counting_input(10000);

-- Groups without a sort, several aggregates at once.
.mode box
CREATE VIRTUAL TABLE temp.by_country USING group_by_fields(
  purchases,
  by_field_names(country),
  count(*) AS purchases,
  sum(cost) AS total,
  mean(cost) AS mean,
  top_largest(cost, 3) AS top
);
SELECT * FROM by_country ORDER BY country;

-- A scan in thousands, which remembers where it is.
CREATE VIRTUAL TABLE temp.scan USING byte_key_scan(purchases);
SELECT count(*) AS rows, min(id), max(id) FROM (SELECT id FROM scan WHERE tracker = 'walk' LIMIT 1000);
SELECT count(*) AS rows, min(id), max(id) FROM (SELECT id FROM scan WHERE tracker = 'walk' LIMIT 1000);

-- Somebody else takes half of the rest; this is all there is to tell them.
SELECT tracker_try_split('walk', 0.5) AS residual;

-- And the scan goes on to its new end.
SELECT count(*) AS rows, min(id), max(id) FROM scan WHERE tracker = 'walk';
SELECT tracker_check_done('walk') AS done;
