-- Differences of times are intervals: compared, aggregated, cast, scaled and added to times, in the session time zone.

CREATE TABLE trips (id INT, start TIMESTAMP, stop TIMESTAMP, day DATE, due DATE) USING delta;

INSERT INTO trips VALUES (1, TIMESTAMP'2024-03-31 00:30:00', TIMESTAMP'2024-03-31 04:30:00.5', DATE'2024-03-31', DATE'2024-02-28'), (2, TIMESTAMP'2024-10-27 12:00:00', TIMESTAMP'2024-10-26 12:00:00', DATE'2024-01-01', DATE'2024-10-27'), (3, NULL, TIMESTAMP'2024-01-01 00:00:00', NULL, DATE'2024-01-01');

SELECT stop - start, day - due, stop - day, '2024-04-01' - day FROM trips ORDER BY id;
--| (stop - start) interval, (day - due) interval, (stop - day) interval, (2024-04-01 - day) interval
--| 4:00:00.500000, 32 days, 0:00:00, 4:30:00.500000, 1 day, 0:00:00
--| -1 day, 0:00:00, -300 days, 0:00:00, 299 days, 12:00:00, 91 days, 0:00:00
--| NULL, NULL, NULL, NULL

SELECT CAST(stop - start AS STRING) AS text, CAST(day - due AS STRING) AS days, typeof(stop - start) AS kind FROM trips ORDER BY id;
--| text string, days string, kind string
--| 'INTERVAL \'0 04:00:00.5\' DAY TO SECOND', 'INTERVAL \'32\' DAY', 'interval day to second'
--| 'INTERVAL \'-1 00:00:00\' DAY TO SECOND', 'INTERVAL \'-300\' DAY', 'interval day to second'
--| NULL, NULL, 'interval day to second'

SELECT id FROM trips WHERE stop - start > INTERVAL 1 HOUR;
--| id int
--| 1

SELECT id FROM trips WHERE day - due BETWEEN INTERVAL '1' DAY AND INTERVAL 40 DAYS;
--| id int
--| 1

SELECT sum(stop - start) AS total, avg(stop - start) AS mean, min(day - due) AS least, max(day - due) AS most, count(DISTINCT stop - start) AS n FROM trips;
--| total interval, mean interval, least interval, most interval, n bigint
--| -1 day, 4:00:00.500000, -1 day, 14:00:00.250000, -300 days, 0:00:00, 32 days, 0:00:00, 2

SELECT stop - start AS taken, count(*) AS n FROM trips GROUP BY stop - start ORDER BY taken DESC;
--| taken interval, n bigint
--| 4:00:00.500000, 1
--| -1 day, 0:00:00, 1
--| NULL, 1

SELECT id, taken * 2 AS twice, taken / 3 AS third, taken + INTERVAL 1 HOUR AS longer FROM (SELECT id, stop - start AS taken FROM trips) ORDER BY id;
--| id int, twice interval, third interval, longer interval
--| 1, 8:00:01, 1:20:00.166667, 5:00:00.500000
--| 2, -2 days, 0:00:00, -1 day, 16:00:00, -1 day, 1:00:00
--| 3, NULL, NULL, NULL

SELECT start + (stop - start), due + (day - due), day - INTERVAL '1' HOUR * 2 FROM trips WHERE id = 1;
--| start + (stop - start) timestamp, date_add(due, extractansiintervaldays((day - due))) date, day - (INTERVAL '01' HOUR * 2) timestamp
--| 2024-03-31 04:30:00.500000, 2024-03-31, 2024-03-30 22:00:00

SELECT id, lag(stop - start) OVER (ORDER BY id) AS before, sum(stop - start) OVER (ORDER BY id) AS total FROM trips ORDER BY id;
--| id int, before interval, total interval
--| 1, NULL, 4:00:00.500000
--| 2, 4:00:00.500000, -1 day, 4:00:00.500000
--| 3, -1 day, 0:00:00, -1 day, 4:00:00.500000

SELECT stop - start AS x FROM trips WHERE id = 1 UNION ALL SELECT INTERVAL 1 DAY ORDER BY x;
--| x interval
--| 4:00:00.500000
--| 1 day, 0:00:00

SELECT extract(DAY FROM stop - start) AS d, extract(HOUR FROM stop - start) AS h, extract(SECOND FROM stop - start) AS s, CAST(stop - start AS BIGINT) AS secs FROM trips ORDER BY id;
--| d int, h tinyint, s decimal(8,6), secs bigint
--| 0, 4, 0.500000, 14400
--| -1, 0, 0.000000, -86400
--| NULL, NULL, NULL, NULL

SELECT make_dt_interval(1, 2, 3, 4.5) AS made, INTERVAL '-1 02:03' DAY TO MINUTE AS written, INTERVAL 1 WEEK AS week;
--| made interval, written interval, week interval
--| 1 day, 2:03:04.500000, -2 days, 21:57:00, 7 days, 0:00:00

SELECT (stop - start) / 0 FROM trips WHERE id = 1;
--! INTERVAL_DIVIDED_BY_ZERO

SELECT day - due > 10 FROM trips;
--! DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES

CREATE TABLE taken USING delta AS SELECT stop - start AS taken FROM trips;
--! DELTA_UNSUPPORTED_DATA_TYPES

CREATE TABLE long_trips (id INT, taken STRING) USING delta;

INSERT INTO long_trips SELECT id, stop - start FROM trips;

SELECT * FROM long_trips ORDER BY id;
--| id int, taken string
--| 1, 'INTERVAL \'0 04:00:00.5\' DAY TO SECOND'
--| 2, 'INTERVAL \'-1 00:00:00\' DAY TO SECOND'
--| 3, NULL

UPDATE trips SET stop = stop + (stop - start) WHERE stop - start > INTERVAL '1' HOUR;
--| num_affected_rows bigint
--| 1

SELECT stop FROM trips WHERE id = 1;
--| stop timestamp
--| 2024-03-31 08:30:01

ALTER TABLE trips ADD CONSTRAINT short CHECK (start IS NULL OR stop - start < INTERVAL '2' DAY);

INSERT INTO trips VALUES (4, TIMESTAMP'2024-01-01 00:00:00', TIMESTAMP'2024-01-04 00:00:00', NULL, NULL);
--! DELTA_VIOLATE_CONSTRAINT_WITH_VALUES

SET TIME ZONE 'Europe/Berlin';
--| key string, value string
--| 'spark.sql.session.timeZone', 'Europe/Berlin'

SELECT stop - start, stop - day, start + INTERVAL '1' DAY * 1 FROM trips ORDER BY id;
--| (stop - start) interval, (stop - day) interval, start + (INTERVAL '1' DAY * 1) timestamp
--| 9:00:01, 10:30:01, 2024-03-31 23:30:00
--| -1 day, 1:00:00, 299 days, 14:00:00, 2024-10-28 12:00:00
--| NULL, NULL, NULL
