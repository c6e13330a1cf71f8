-- Functions over timestamps, in a session time zone and between time zones.

SET TIME ZONE 'Europe/Berlin';
--| key string, value string
--| 'spark.sql.session.timeZone', 'Europe/Berlin'

SELECT TIMESTAMP '2024-03-31 02:30:00' AS left_out, TIMESTAMP '2024-10-27 02:30:00' AS first, unix_seconds(TIMESTAMP '2024-10-27 02:30:00') AS seconds;
--| left_out timestamp, first timestamp, seconds bigint
--| 2024-03-31 01:30:00, 2024-10-27 00:30:00, 1729989000

SELECT CAST(TIMESTAMP '2024-07-01 22:30:00 UTC' AS DATE) AS day, CAST(TIMESTAMP '2024-07-01 22:30:00 UTC' AS STRING) AS text, CAST(TIMESTAMP '2024-07-01 22:30:00 UTC' AS TIMESTAMP_NTZ) AS local;
--| day date, text string, local timestamp_ntz
--| 2024-07-02, '2024-07-02 00:30:00', 2024-07-02 00:30:00

SELECT CAST(DATE '2024-07-01' AS TIMESTAMP) AS midnight, unix_seconds(CAST(DATE '2024-07-01' AS TIMESTAMP)) AS seconds;
--| midnight timestamp, seconds bigint
--| 2024-06-30 22:00:00, 1719784800

SELECT year(at), month(at), day(at), hour(at), minute(at), second(at), extract(SECOND FROM at) FROM VALUES (TIMESTAMP '2024-12-31 23:30:15.5 UTC') AS t(at);
--| year(at) int, month(at) int, day(at) int, hour(at) int, minute(at) int, second(at) int, extract(SECOND FROM at) decimal(8,6)
--| 2025, 1, 1, 0, 30, 15, 15.500000

SELECT date_trunc('YEAR', at) AS year, date_trunc('DAY', at) AS day, date_trunc('HOUR', at) AS hour, trunc(at, 'MONTH') AS month FROM VALUES (TIMESTAMP '2024-10-27 01:45:00 UTC') AS t(at);
--| year timestamp, day timestamp, hour timestamp, month date
--| 2023-12-31 23:00:00, 2024-10-26 22:00:00, 2024-10-27 01:00:00, 2024-10-01

SELECT to_timestamp('27.10.2024 02:30', 'dd.MM.yyyy HH:mm') AS read, to_date('2024-10-27 23:30', 'yyyy-MM-dd HH:mm') AS day, date_format(TIMESTAMP '2024-07-01 22:30:00 UTC', 'yyyy-MM-dd HH:mm') AS text;
--| read timestamp, day date, text string
--| 2024-10-27 00:30:00, 2024-10-27, '2024-07-02 00:30'

SELECT from_unixtime(0) AS text, unix_timestamp('1970-01-01 01:00:00') AS seconds, unix_timestamp(TIMESTAMP_NTZ '1970-01-01 01:00:00') AS local;
--| text string, seconds bigint, local bigint
--| '1970-01-01 01:00:00', 0, 3600

SELECT make_timestamp(2024, 7, 1, 12, 0, 0) AS here, make_timestamp(2024, 7, 1, 12, 0, 0, 'America/Los_Angeles') AS there;
--| here timestamp, there timestamp
--| 2024-07-01 10:00:00, 2024-07-01 19:00:00

SELECT at + INTERVAL 1 DAY AS day, at + INTERVAL 24 HOURS AS hours, timestampadd(HOUR, 24, at) AS added, at + INTERVAL 30 HOURS AS more FROM VALUES (TIMESTAMP '2024-03-30 12:00:00') AS t(at);
--| day timestamp, hours timestamp, added timestamp, more timestamp
--| 2024-03-31 10:00:00, 2024-03-31 10:00:00, 2024-03-31 11:00:00, 2024-03-31 16:00:00

SELECT timestampadd(DAY, 1, at) AS day, timestampadd(MONTH, 1, at) AS month, timestampdiff(HOUR, at, TIMESTAMP '2024-03-31 12:00:00') AS hours FROM VALUES (TIMESTAMP '2024-03-30 12:00:00') AS t(at);
--| day timestamp, month timestamp, hours bigint
--| 2024-03-31 10:00:00, 2024-04-30 10:00:00, 24

SELECT months_between(TIMESTAMP '2024-03-31 12:00:00', TIMESTAMP '2024-02-15 00:00:00') AS months, datediff(TIMESTAMP '2024-07-01 22:30:00 UTC', DATE '2024-07-01') AS days;
--| months double, days int
--| 1.53091398, 1

SELECT from_utc_timestamp('2024-07-01 12:00:00', 'Asia/Kolkata') AS from_utc, to_utc_timestamp('2024-07-01 12:00:00', 'Asia/Kolkata') AS to_utc;
--| from_utc timestamp, to_utc timestamp
--| 2024-07-01 15:30:00, 2024-07-01 04:30:00

SELECT convert_timezone('America/Los_Angeles', TIMESTAMP_NTZ '2024-07-01 12:00:00') AS from_here, convert_timezone('UTC', 'America/Los_Angeles', TIMESTAMP_NTZ '2024-07-01 12:00:00') AS from_utc;
--| from_here timestamp_ntz, from_utc timestamp_ntz
--| 2024-07-01 03:00:00, 2024-07-01 05:00:00

SELECT TIMESTAMP '1893-03-31 23:59:59' AS mean_time, unix_seconds(TIMESTAMP '1893-03-31 23:59:59') AS seconds, hour(timestamp_seconds(-12219292800)) AS hour;
--| mean_time timestamp, seconds bigint, hour int
--| 1893-03-31 23:06:31, -2422054409, 0

SELECT CAST(array(TIMESTAMP '2024-07-01 12:00:00') AS STRING) AS listed, TIMESTAMP '2024-07-01 00:00:00' = DATE '2024-07-01' AS same, try_cast('2024-07-01 12:00' AS TIMESTAMP) AS tried;
--| listed string, same boolean, tried timestamp
--| '[2024-07-01 12:00:00]', true, 2024-07-01 10:00:00

SET TIME ZONE 'UTC';
--| key string, value string
--| 'spark.sql.session.timeZone', 'UTC'
