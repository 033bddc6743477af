-- A calendar is a counting range. The days it has and the flights have not are the gaps.
.load ./tranche
.mode box
.print
.print '# Days on which no flight of the sample left Miami'

SELECT date('2001-01-01', value || ' days') AS day,
       substr('SunMonTueWedThuFriSat', 1 + 3 * strftime('%w', '2001-01-01', value || ' days'), 3) AS weekday
  FROM counting_input(90)
 WHERE day NOT IN (SELECT date(date) FROM flights WHERE origin = 'MIA')
 ORDER BY value;
