-- Windows of time group rows: tumbling, sliding, with an offset, and sessions; rows without a time are in none.

CREATE TABLE visits (who STRING, at TIMESTAMP, local TIMESTAMP_NTZ, day DATE, n INT) USING delta;

INSERT INTO visits VALUES ('a', TIMESTAMP'2024-03-05 10:12:00', TIMESTAMP_NTZ'2024-03-05 10:12:00', DATE'2024-03-05', 1), ('a', TIMESTAMP'2024-03-05 10:13:00', TIMESTAMP_NTZ'2024-03-05 10:13:00', DATE'2024-03-06', 2), ('b', TIMESTAMP'2024-03-05 11:00:00', TIMESTAMP_NTZ'2024-03-05 11:00:00', NULL, 3), ('b', TIMESTAMP'1969-12-31 23:59:59.5', NULL, DATE'1969-12-31', 4), ('a', NULL, NULL, NULL, 5), ('a', TIMESTAMP'2024-03-05 10:18:00', TIMESTAMP_NTZ'2024-03-05 10:18:00', DATE'2024-03-05', 6), ('b', TIMESTAMP'2024-03-05 10:19:00', TIMESTAMP_NTZ'2024-03-05 10:19:00', DATE'2024-03-05', 7);

SELECT window, sum(n) FROM visits GROUP BY window(at, '1 hour') ORDER BY window;
--| window struct<start:timestamp,end:timestamp>, sum(n) bigint
--| {start: 1969-12-31 23:00:00, end: 1970-01-01 00:00:00}, 4
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, 16
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 12:00:00}, 3

SELECT window.start, window.end, who, count(*) FROM visits GROUP BY window(at, '1 hour'), who ORDER BY 1, 3;
--| start timestamp, end timestamp, who string, count(1) bigint
--| 1969-12-31 23:00:00, 1970-01-01 00:00:00, 'b', 1
--| 2024-03-05 10:00:00, 2024-03-05 11:00:00, 'a', 3
--| 2024-03-05 10:00:00, 2024-03-05 11:00:00, 'b', 1
--| 2024-03-05 11:00:00, 2024-03-05 12:00:00, 'b', 1

SELECT window(at, '10 minutes', '5 minutes') AS w, sum(n) FROM visits GROUP BY w ORDER BY w;
--| w struct<start:timestamp,end:timestamp>, sum(n) bigint
--| {start: 1969-12-31 23:50:00, end: 1970-01-01 00:00:00}, 4
--| {start: 1969-12-31 23:55:00, end: 1970-01-01 00:05:00}, 4
--| {start: 2024-03-05 10:05:00, end: 2024-03-05 10:15:00}, 3
--| {start: 2024-03-05 10:10:00, end: 2024-03-05 10:20:00}, 16
--| {start: 2024-03-05 10:15:00, end: 2024-03-05 10:25:00}, 13
--| {start: 2024-03-05 10:55:00, end: 2024-03-05 11:05:00}, 3
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 11:10:00}, 3

SELECT window.start, sum(n) FROM visits GROUP BY window(at, '10 minutes', '4 minutes') ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-31 23:52:00, 4
--| 1969-12-31 23:56:00, 4
--| 2024-03-05 10:04:00, 3
--| 2024-03-05 10:08:00, 3
--| 2024-03-05 10:12:00, 16
--| 2024-03-05 10:16:00, 13
--| 2024-03-05 10:52:00, 3
--| 2024-03-05 10:56:00, 3
--| 2024-03-05 11:00:00, 3

SELECT window.start, sum(n) FROM visits GROUP BY window(at, '1 hour', '1 hour', '15 minutes') ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-31 23:15:00, 4
--| 2024-03-05 09:15:00, 3
--| 2024-03-05 10:15:00, 16

SELECT window.start, sum(n) FROM visits GROUP BY window(at, '1 hour', '1 hour', '-15 minutes') ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-31 23:45:00, 4
--| 2024-03-05 09:45:00, 16
--| 2024-03-05 10:45:00, 3

SELECT window.start, sum(n) FROM visits GROUP BY window(at, '2 hours', '1 hour', '30 minutes') ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-31 22:30:00, 4
--| 1969-12-31 23:30:00, 4
--| 2024-03-05 08:30:00, 16
--| 2024-03-05 09:30:00, 19
--| 2024-03-05 10:30:00, 3

SELECT window.start, sum(n) FROM visits GROUP BY window(at, 'INTERVAL 1 HOUR 30 minutes') ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-31 22:30:00, 4
--| 2024-03-05 09:00:00, 16
--| 2024-03-05 10:30:00, 3

SELECT window.start, sum(n) FROM visits GROUP BY window(at, '1.5 seconds') ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-31 23:59:58.500000, 4
--| 2024-03-05 10:12:00, 1
--| 2024-03-05 10:13:00, 2
--| 2024-03-05 10:18:00, 6
--| 2024-03-05 10:19:00, 7
--| 2024-03-05 11:00:00, 3

SELECT window.start, sum(n) FROM visits GROUP BY window(at, 3600000000) ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-31 23:00:00, 4
--| 2024-03-05 10:00:00, 16
--| 2024-03-05 11:00:00, 3

SELECT window.start, sum(n) FROM visits GROUP BY window(at, '1 week') ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-25 00:00:00, 4
--| 2024-02-29 00:00:00, 19

SELECT window.start, sum(n) FROM visits GROUP BY window(local, '1 hour') ORDER BY 1;
--| start timestamp_ntz, sum(n) bigint
--| 2024-03-05 10:00:00, 16
--| 2024-03-05 11:00:00, 3

SELECT window.start, sum(n) FROM visits GROUP BY window(day, '2 days') ORDER BY 1;
--| start timestamp, sum(n) bigint
--| 1969-12-30 00:00:00, 4
--| 2024-03-04 00:00:00, 14
--| 2024-03-06 00:00:00, 2

SELECT window(at, '1 hour'), n FROM visits ORDER BY n;
--| window struct<start:timestamp,end:timestamp>, n int
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, 1
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, 2
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 12:00:00}, 3
--| {start: 1969-12-31 23:00:00, end: 1970-01-01 00:00:00}, 4
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, 6
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, 7

SELECT window(at, '1 hour').start, max(n) OVER (PARTITION BY window(at, '1 hour')) AS most FROM visits ORDER BY n;
--| window.start timestamp, most int
--| 2024-03-05 10:00:00, 7
--| 2024-03-05 10:00:00, 7
--| 2024-03-05 11:00:00, 3
--| 1969-12-31 23:00:00, 4
--| 2024-03-05 10:00:00, 7
--| 2024-03-05 10:00:00, 7

SELECT n FROM visits WHERE window(at, '1 hour').start > TIMESTAMP'2024-01-01' ORDER BY n;
--| n int
--| 1
--| 2
--| 3
--| 6
--| 7

SELECT window, who, count(*) FROM visits GROUP BY ROLLUP(window(at, '1 hour'), who) ORDER BY 1, 2;
--| window struct<start:timestamp,end:timestamp>, who string, count(1) bigint
--| NULL, NULL, 6
--| {start: 1969-12-31 23:00:00, end: 1970-01-01 00:00:00}, NULL, 1
--| {start: 1969-12-31 23:00:00, end: 1970-01-01 00:00:00}, 'b', 1
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, NULL, 4
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, 'a', 3
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, 'b', 1
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 12:00:00}, NULL, 1
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 12:00:00}, 'b', 1

SELECT window.start, count(*) AS c FROM visits WHERE n < 7 GROUP BY window(at, '1 hour') HAVING count(*) > 1;
--| start timestamp, c bigint
--| 2024-03-05 10:00:00, 3

SELECT DISTINCT window(at, '1 hour') FROM visits ORDER BY 1;
--| window struct<start:timestamp,end:timestamp>
--| {start: 1969-12-31 23:00:00, end: 1970-01-01 00:00:00}
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 12:00:00}

SELECT window, sum(s) FROM (SELECT window(at, '10 minutes') AS w, sum(n) AS s FROM visits GROUP BY 1) GROUP BY window(window_time(w), '1 hour') ORDER BY 1;
--| window struct<start:timestamp,end:timestamp>, sum(s) bigint
--| {start: 1969-12-31 23:00:00, end: 1970-01-01 00:00:00}, 4
--| {start: 2024-03-05 10:00:00, end: 2024-03-05 11:00:00}, 16
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 12:00:00}, 3

SELECT window.start, sum(s) FROM (SELECT window(at, '10 minutes') AS w, sum(n) AS s FROM visits GROUP BY 1) GROUP BY window(w, '1 hour') ORDER BY 1;
--| start timestamp, sum(s) bigint
--| 1969-12-31 23:00:00, 4
--| 2024-03-05 10:00:00, 16
--| 2024-03-05 11:00:00, 3

SELECT window_time(w) FROM (SELECT window(at, '10 minutes') AS w FROM visits) ORDER BY 1;
--| window_time(w) timestamp
--| 1969-12-31 23:59:59.999999
--| 2024-03-05 10:19:59.999999
--| 2024-03-05 10:19:59.999999
--| 2024-03-05 10:19:59.999999
--| 2024-03-05 10:19:59.999999
--| 2024-03-05 11:09:59.999999

SELECT session_window, who, count(*), sum(n) FROM visits GROUP BY session_window(at, '5 minutes'), who ORDER BY 1, 2;
--| session_window struct<start:timestamp,end:timestamp>, who string, count(1) bigint, sum(n) bigint
--| {start: 1969-12-31 23:59:59.500000, end: 1970-01-01 00:04:59.500000}, 'b', 1, 4
--| {start: 2024-03-05 10:12:00, end: 2024-03-05 10:23:00}, 'a', 3, 9
--| {start: 2024-03-05 10:19:00, end: 2024-03-05 10:24:00}, 'b', 1, 7
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 11:05:00}, 'b', 1, 3

SELECT session_window.start, session_window.end, sum(n) FROM visits GROUP BY session_window(at, '5 minutes') ORDER BY 1;
--| start timestamp, end timestamp, sum(n) bigint
--| 1969-12-31 23:59:59.500000, 1970-01-01 00:04:59.500000, 4
--| 2024-03-05 10:12:00, 2024-03-05 10:24:00, 16
--| 2024-03-05 11:00:00, 2024-03-05 11:05:00, 3

SELECT session_window.start, count(DISTINCT who) FROM visits WHERE n <> 2 GROUP BY session_window(at, '1 minute') ORDER BY 1;
--| start timestamp, count(DISTINCT who) bigint
--| 1969-12-31 23:59:59.500000, 1
--| 2024-03-05 10:12:00, 1
--| 2024-03-05 10:18:00, 2
--| 2024-03-05 11:00:00, 1

SELECT who, session_window.start, sum(n) FROM visits GROUP BY who, session_window(local, '50 minutes') HAVING sum(n) > 3 ORDER BY 2;
--| who string, start timestamp_ntz, sum(n) bigint
--| 'a', 2024-03-05 10:12:00, 9
--| 'b', 2024-03-05 10:19:00, 10

SELECT session_window(at, '5 minutes') AS s, n FROM visits ORDER BY n;
--| s struct<start:timestamp,end:timestamp>, n int
--| {start: 2024-03-05 10:12:00, end: 2024-03-05 10:17:00}, 1
--| {start: 2024-03-05 10:13:00, end: 2024-03-05 10:18:00}, 2
--| {start: 2024-03-05 11:00:00, end: 2024-03-05 11:05:00}, 3
--| {start: 1969-12-31 23:59:59.500000, end: 1970-01-01 00:04:59.500000}, 4
--| {start: 2024-03-05 10:18:00, end: 2024-03-05 10:23:00}, 6
--| {start: 2024-03-05 10:19:00, end: 2024-03-05 10:24:00}, 7

SELECT window(at, 'never'), count(*) FROM visits GROUP BY 1;
--! CANNOT_PARSE_INTERVAL

SELECT window(at), count(*) FROM visits GROUP BY 1;
--! WRONG_NUM_ARGS.WITHOUT_SUGGESTION

SET TIME ZONE 'Asia/Kolkata';
--| key string, value string
--| 'spark.sql.session.timeZone', 'Asia/Kolkata'

SELECT CAST(window.start AS STRING) AS start, sum(n) FROM visits GROUP BY window(at, '1 day') ORDER BY 1;
--| start string, sum(n) bigint
--| '1969-12-31 05:30:00', 4
--| '2024-03-05 05:30:00', 19

SELECT CAST(window.start AS STRING) AS start, sum(n) FROM visits GROUP BY window(local, '1 day') ORDER BY 1;
--| start string, sum(n) bigint
--| '2024-03-05 00:00:00', 19

SELECT CAST(window.start AS STRING), string(window.end) FROM visits GROUP BY window(local, '1 day');
--| CAST(window.start AS STRING) string, window.end string
--| '2024-03-05 00:00:00', '2024-03-06 00:00:00'
