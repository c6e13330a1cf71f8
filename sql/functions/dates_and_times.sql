-- Functions over dates and timestamps, in UTC.

SELECT DATE '2024-02-29', TIMESTAMP '2024-02-29 13:14:15.5', TIMESTAMP_NTZ '2024-02-29 13:14:15';
--| DATE '2024-02-29' date, TIMESTAMP '2024-02-29 13:14:15.5' timestamp, TIMESTAMP_NTZ '2024-02-29 13:14:15' timestamp_ntz
--| 2024-02-29, 2024-02-29 13:14:15.500000, 2024-02-29 13:14:15

SELECT year(DATE '2024-02-29'), month(DATE '2024-02-29'), day(DATE '2024-02-29'), quarter(DATE '2024-02-29');
--| year(DATE '2024-02-29') int, month(DATE '2024-02-29') int, day(DATE '2024-02-29') int, quarter(DATE '2024-02-29') int
--| 2024, 2, 29, 1

SELECT dayofweek(DATE '2024-02-29'), weekday(DATE '2024-02-29'), dayofyear(DATE '2024-02-29'), weekofyear(DATE '2024-02-29');
--| dayofweek(DATE '2024-02-29') int, weekday(DATE '2024-02-29') int, dayofyear(DATE '2024-02-29') int, weekofyear(DATE '2024-02-29') int
--| 5, 3, 60, 9

SELECT hour(TIMESTAMP '2024-02-29 13:14:15'), minute(TIMESTAMP '2024-02-29 13:14:15'), second(TIMESTAMP '2024-02-29 13:14:15');
--| hour(TIMESTAMP '2024-02-29 13:14:15') int, minute(TIMESTAMP '2024-02-29 13:14:15') int, second(TIMESTAMP '2024-02-29 13:14:15') int
--| 13, 14, 15

SELECT extract(YEAR FROM DATE '2024-02-29'), extract(SECOND FROM TIMESTAMP '2024-02-29 13:14:15.5');
--| extract(YEAR FROM DATE '2024-02-29') int, extract(SECOND FROM TIMESTAMP '2024-02-29 13:14:15.5') decimal(8,6)
--| 2024, 15.500000

SELECT date_add(DATE '2024-02-28', 2), date_sub(DATE '2024-03-01', 1), datediff(DATE '2024-03-01', DATE '2024-02-28');
--| date_add(DATE '2024-02-28', 2) date, date_sub(DATE '2024-03-01', 1) date, datediff(DATE '2024-03-01', DATE '2024-02-28') int
--| 2024-03-01, 2024-02-29, 2

SELECT add_months(DATE '2024-01-31', 1), last_day(DATE '2024-02-03'), next_day(DATE '2024-02-29', 'MON'), months_between(DATE '2024-03-31', DATE '2024-02-29') AS months;
--| add_months(DATE '2024-01-31', 1) date, last_day(DATE '2024-02-03') date, next_day(DATE '2024-02-29', MON) date, months double
--| 2024-02-29, 2024-02-29, 2024-03-04, 1.0

SELECT trunc(DATE '2024-02-29', 'MONTH'), date_trunc('HOUR', TIMESTAMP '2024-02-29 13:14:15');
--| trunc(DATE '2024-02-29', MONTH) date, date_trunc(HOUR, TIMESTAMP '2024-02-29 13:14:15') timestamp
--| 2024-02-01, 2024-02-29 13:00:00

SELECT DATE '2024-01-31' + INTERVAL 1 MONTH AS a, TIMESTAMP '2024-02-29 00:00:00' + INTERVAL '1' DAY AS b, DATE '2024-02-29' - INTERVAL 1 YEAR AS c;
--| a date, b timestamp, c date
--| 2024-02-29, 2024-03-01 00:00:00, 2023-02-28

SELECT timestampadd(SECOND, 90, TIMESTAMP '2024-02-29 00:00:00'), timestampdiff(DAY, TIMESTAMP '2024-02-01 00:00:00', TIMESTAMP '2024-02-29 00:00:00');
--| timestampadd(SECOND, 90, TIMESTAMP '2024-02-29 00:00:00') timestamp, timestampdiff(DAY, TIMESTAMP '2024-02-01 00:00:00', TIMESTAMP '2024-02-29 00:00:00') bigint
--| 2024-02-29 00:01:30, 28

SELECT date_format(TIMESTAMP '2024-02-29 13:14:15', 'yyyy-MM-dd HH:mm:ss'), date_format(DATE '2024-02-29', 'dd.MM.yy');
--| date_format(TIMESTAMP '2024-02-29 13:14:15', yyyy-MM-dd HH:mm:ss) string, date_format(DATE '2024-02-29', dd.MM.yy) string
--| '2024-02-29 13:14:15', '29.02.24'

SELECT to_date('29/02/2024', 'dd/MM/yyyy'), to_timestamp('2024-02-29 01:02', 'yyyy-MM-dd HH:mm'), to_date('2024-02-29');
--| to_date(29/02/2024, dd/MM/yyyy) date, to_timestamp(2024-02-29 01:02, yyyy-MM-dd HH:mm) timestamp, to_date(2024-02-29) date
--| 2024-02-29, 2024-02-29 01:02:00, 2024-02-29

SELECT unix_timestamp(TIMESTAMP '1970-01-02 00:00:00') AS seconds, timestamp_seconds(86400), from_unixtime(86400) AS text, unix_date(DATE '1970-01-03');
--| seconds bigint, timestamp_seconds(86400) timestamp, text string, unix_date(DATE '1970-01-03') int
--| 86400, 1970-01-02 00:00:00, '1970-01-02 00:00:00', 2

SELECT make_date(2024, 2, 29), CAST('2024-02-29' AS DATE), CAST(TIMESTAMP '2024-02-29 13:14:15' AS DATE);
--| make_date(2024, 2, 29) date, CAST(2024-02-29 AS DATE) date, CAST(TIMESTAMP '2024-02-29 13:14:15' AS DATE) date
--| 2024-02-29, 2024-02-29, 2024-02-29

SELECT make_timestamp(year(at), month(at), 1, hour(at), 0, 0) AS start, make_date(year(at) + 1, 1, 1) AS next FROM VALUES (TIMESTAMP_NTZ '2024-02-29 13:14:15') AS t(at);
--| start timestamp, next date
--| 2024-02-01 13:00:00, 2025-01-01

SELECT try_cast('soon' AS TIMESTAMP) AS tried, try_to_timestamp('x', 'yyyy-MM-dd'), CAST(NULL AS DATE);
--| tried timestamp, try_to_timestamp(x, yyyy-MM-dd) timestamp, CAST(NULL AS DATE) date
--| NULL, NULL, NULL

SELECT CAST('soon' AS DATE);
--! CAST_INVALID_INPUT

SELECT make_date(2023, 2, 29);
--! DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION
