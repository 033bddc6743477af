-- group_by_fields: the statistics of each group, as SQLite's GROUP BY gives them, from one pass.
.load ./tranche
.nullvalue NULL
.headers on
CREATE TABLE purchases(id INTEGER PRIMARY KEY, user_id INT, country TEXT, cost, address TEXT);
INSERT INTO purchases(user_id, country, cost, address) VALUES
  (1, 'NZ', 5, '{"city":"Nelson"}'), (1, 'AU', 7.5, '{"city":"Perth"}'), (2, 'NZ', -1, NULL),
  (2, NULL, 3, '{"city":"Nelson"}'), (1, 'NZ', 9, '{}');

CREATE VIRTUAL TABLE temp.by_user USING group_by_fields(
  purchases, by_field_names(user_id, country), sum(cost) AS total_cost, count(*) AS n,
  top_largest(cost, 2) AS top, where(cost > 0));
SELECT * FROM by_user;
-- The same from SQLite.
SELECT user_id, country, sum(cost) AS total_cost, count(*) AS n FROM purchases WHERE cost > 0
  GROUP BY user_id, country EXCEPT SELECT user_id, country, total_cost, n FROM by_user;

-- Terms on key fields go into the scan.
SELECT * FROM by_user WHERE country = 'NZ';
SELECT country, total_cost FROM by_user WHERE country IN ('NZ', 'AU') AND user_id < 2;
SELECT country, n FROM by_user WHERE country IS NULL;

-- A subquery asks the same groups for each row.
SELECT id, (SELECT n FROM by_user AS b WHERE b.user_id = p.user_id AND b.country = p.country) AS n,
  EXISTS (SELECT 1 FROM by_user AS b WHERE b.country < p.country) AS has_less FROM purchases AS p ORDER BY id;

-- All rows as one group; without rows it is there, too.
CREATE VIRTUAL TABLE temp.whole USING group_by_fields(purchases, globally(), sum(cost), mean(cost) AS mean, count(*));
SELECT * FROM whole;
DELETE FROM purchases WHERE id = 1;
SELECT * FROM whole;

-- Ad hoc, key and value as JSON objects.
SELECT key, value FROM group_by_fields('purchases', 'user_id, country', 'sum(cost) AS s, mean(cost) AS m');
SELECT key, value FROM group_by_fields('purchases', '', 'count(*) AS n, min(cost), max(cost)');
SELECT key, value FROM group_by_fields('purchases', NULL, 'count(*) AS n, sum(cost) AS s', 'cost > 1000');
SELECT key, value FROM group_by_fields('purchases', 'country', 'count(*) AS n', 'cost > 1000');
SELECT value ->> 'n' AS n FROM group_by_fields('purchases', 'address.city', 'count(*) AS n');

-- Without an aggregate: the rows of each group.
SELECT key, value FROM group_by_fields('purchases', 'address.city AS city');

-- Accumulators, to be merged later.
CREATE VIRTUAL TABLE temp.sums USING group_by_fields(purchases, by_field_names(country), sum(cost) AS s, emit(accumulators));
SELECT extract_output(merge_accumulators(s)) AS total FROM sums;

-- What is wrong is said.
SELECT * FROM group_by_fields('purchases', 'country', 'top_largest(cost, user_id)');
SELECT * FROM group_by_fields('purchases', 'country', 'top_largest(cost, -1)');
SELECT * FROM group_by_fields('purchases', 'county', 'sum(cost)');
SELECT * FROM group_by_fields('purchases', 'country.', 'sum(cost)');
SELECT * FROM group_by_fields('purchases', 'country', 'sum(price)');
SELECT * FROM group_by_fields('sales', 'country', 'sum(price)');
SELECT * FROM group_by_fields();
SELECT * FROM group_by_fields(1);
SELECT * FROM group_by_fields('purchases', 'country, user_id AS country', 'sum(cost)');
CREATE VIRTUAL TABLE x USING group_by_fields(purchases, by_field_names(country), sum(cost));
CREATE VIRTUAL TABLE temp.x USING group_by_fields(purchases, sum(cost));
CREATE VIRTUAL TABLE temp.x USING group_by_fields(purchases, by_field_names(country), globally(), sum(cost));
CREATE VIRTUAL TABLE temp.x USING group_by_fields(purchases, by_field_ids(7), sum(cost));
CREATE VIRTUAL TABLE temp.x USING group_by_fields(purchases, by_field_names(upper(country)), sum(cost));
CREATE VIRTUAL TABLE temp.x USING group_by_fields(purchases, by_field_names(country), cost);
CREATE VIEW v AS SELECT * FROM group_by_fields('purchases', 'country', 'sum(cost)');
SELECT * FROM v;

-- What SQLite does not take is named.
SELECT * FROM group_by_fields('purchases', 'country', 'sum(cost)', 'price');
SELECT * FROM group_by_fields('purchases', 'price + 1 AS p', 'sum(cost)');
SELECT * FROM group_by_fields('purchases', 'country', 'sum(cost) FILTER (WHERE price) AS s');
CREATE VIRTUAL TABLE temp.x USING group_by_fields(purchases, by_field_names(country), where(cost = 1 or));
CREATE VIEW broken AS SELECT price FROM purchases;
SELECT * FROM group_by_fields('broken', '', 'sum(price)');
SELECT * FROM group_by_fields('purchases', '', 'count(*)', NULL, 0);
