-- Loads the flights and airports of sql/data/ into the open database.
.import --csv sql/data/flights.csv flights_csv
.import --csv sql/data/airports.csv airports_csv

CREATE TABLE flights(
  id INTEGER PRIMARY KEY,
  date TEXT,         -- local departure
  delay INTEGER,     -- minutes, negative is early
  distance INTEGER,  -- miles
  origin TEXT,
  destination TEXT
);
INSERT INTO flights SELECT NULL, date, delay, distance, origin, destination FROM flights_csv;

CREATE TABLE airports(iata TEXT PRIMARY KEY, name TEXT, city TEXT, state TEXT);
INSERT INTO airports SELECT iata, name, city, state FROM airports_csv;

DROP TABLE flights_csv;
DROP TABLE airports_csv;

.print
.print '# The data'
SELECT format('%,d flights of %s to %s, %,d airports',
              count(*), date(min(date)), date(max(date)), (SELECT count(*) FROM airports))
  FROM flights;
