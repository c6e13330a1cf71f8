-- Timestamps have their dates, hours and texts in the session time zone.

SET TIME ZONE 'Europe/Berlin';
--| key string, value string
--| 'spark.sql.session.timeZone', 'Europe/Berlin'

SELECT current_timezone() AS zone;
--| zone string
--| 'Europe/Berlin'

CREATE TABLE events (id INT, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), seen TIMESTAMP_NTZ) USING delta PARTITIONED BY (day);

ALTER TABLE events ADD CONSTRAINT recent CHECK (at >= '2024-01-01 00:00:00');

INSERT INTO events (id, at, seen) VALUES
    (1, TIMESTAMP '2024-07-01 00:30:00', TIMESTAMP_NTZ '2024-07-01 00:30:00'),
    (4, TIMESTAMP '2024-03-31 02:30:00', TIMESTAMP_NTZ '2024-03-31 02:30:00'),
    (5, TIMESTAMP '2024-12-31 22:59:59.999999 UTC', NULL);

INSERT INTO events (id, at, seen) VALUES (2, '2024-10-27 02:30:00', '2024-10-27');

INSERT INTO events (id, at, seen) VALUES (3, DATE '2024-03-31', TIMESTAMP '2024-03-31 01:30:00 UTC');

SELECT *, unix_seconds(at) AS seconds FROM events ORDER BY id;
--| id int, at timestamp, day date, seen timestamp_ntz, seconds bigint
--| 1, 2024-06-30 22:30:00, 2024-07-01, 2024-07-01 00:30:00, 1719786600
--| 2, 2024-10-27 00:30:00, 2024-10-27, 2024-10-27 00:00:00, 1729989000
--| 3, 2024-03-30 23:00:00, 2024-03-31, 2024-03-31 03:30:00, 1711839600
--| 4, 2024-03-31 01:30:00, 2024-03-31, 2024-03-31 02:30:00, 1711848600
--| 5, 2024-12-31 22:59:59.999999, 2024-12-31, NULL, 1735685999

SELECT id FROM events WHERE at = '2024-07-01 00:30' OR seen = at OR day = '2024-10-27' ORDER BY id;
--| id int
--| 1
--| 2
--| 4

SELECT id FROM events WHERE at BETWEEN DATE '2024-03-31' AND '2024-03-31 03:30:00' ORDER BY id;
--| id int
--| 3
--| 4

UPDATE events SET at = at + INTERVAL 1 DAY WHERE hour(at) = 2;
--| num_affected_rows bigint
--| 1

MERGE INTO events USING (SELECT TIMESTAMP_NTZ '2024-10-28 02:30:00' AS at) AS late ON events.at = late.at WHEN MATCHED THEN UPDATE SET id = 20;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 1, 1, 0, 0

DELETE FROM events WHERE at < TIMESTAMP '2024-03-31 00:00:01';
--| num_affected_rows bigint
--| 1

SELECT id, at, day FROM events ORDER BY id;
--| id int, at timestamp, day date
--| 1, 2024-06-30 22:30:00, 2024-07-01
--| 4, 2024-03-31 01:30:00, 2024-03-31
--| 5, 2024-12-31 22:59:59.999999, 2024-12-31
--| 20, 2024-10-28 01:30:00, 2024-10-28

CREATE TEMP VIEW hours AS SELECT id, hour(at) AS hour, CAST(at AS STRING) AS text FROM events;

SET spark.sql.session.timeZone = America/Los_Angeles;
--| key string, value string
--| 'spark.sql.session.timeZone', 'America/Los_Angeles'

SELECT id, at, day, CAST(at AS STRING) AS text FROM events ORDER BY id;
--| id int, at timestamp, day date, text string
--| 1, 2024-06-30 22:30:00, 2024-07-01, '2024-06-30 15:30:00'
--| 4, 2024-03-31 01:30:00, 2024-03-31, '2024-03-30 18:30:00'
--| 5, 2024-12-31 22:59:59.999999, 2024-12-31, '2024-12-31 14:59:59.999999'
--| 20, 2024-10-28 01:30:00, 2024-10-28, '2024-10-27 18:30:00'

SELECT * FROM hours ORDER BY id;
--| id int, hour int, text string
--| 1, 0, '2024-07-01 00:30:00'
--| 4, 3, '2024-03-31 03:30:00'
--| 5, 23, '2024-12-31 23:59:59.999999'
--| 20, 2, '2024-10-28 02:30:00'

INSERT INTO events (id, at, day) VALUES (7, TIMESTAMP '2024-07-01 20:00:00', DATE '2024-07-01');

SET TIME ZONE '+05:30';
--| key string, value string
--| 'spark.sql.session.timeZone', '+05:30'

SELECT id, at, CAST(at AS DATE) AS day, current_timezone() AS zone FROM events ORDER BY id;
--| id int, at timestamp, day date, zone string
--| 1, 2024-06-30 22:30:00, 2024-07-01, '+05:30'
--| 4, 2024-03-31 01:30:00, 2024-03-31, '+05:30'
--| 5, 2024-12-31 22:59:59.999999, 2025-01-01, '+05:30'
--| 7, 2024-07-02 03:00:00, 2024-07-02, '+05:30'
--| 20, 2024-10-28 01:30:00, 2024-10-28, '+05:30'

SET TIME ZONE 'PST';
--| key string, value string
--| 'spark.sql.session.timeZone', 'PST'

SELECT hour(TIMESTAMP '2024-07-01 12:00:00 UTC') AS hour, current_timezone() AS zone;
--| hour int, zone string
--| 5, 'PST'

SET TIME ZONE 'UTC+1';
--| key string, value string
--| 'spark.sql.session.timeZone', 'UTC+1'

SELECT hour(TIMESTAMP '2024-07-01 12:00:00 UTC') AS hour, current_timezone() AS zone;
--| hour int, zone string
--| 13, 'UTC+1'

SET TIME ZONE 'Nowhere/City';
--! INVALID_CONF_VALUE.TIME_ZONE

SET TIME ZONE '+19:00';
--! INVALID_CONF_VALUE.TIME_ZONE

SET TIME ZONE 'europe/berlin';
--! INVALID_CONF_VALUE.TIME_ZONE

SET TIME ZONE 'UTC';
--| key string, value string
--| 'spark.sql.session.timeZone', 'UTC'

SELECT id, at, day FROM events ORDER BY id;
--| id int, at timestamp, day date
--| 1, 2024-06-30 22:30:00, 2024-07-01
--| 4, 2024-03-31 01:30:00, 2024-03-31
--| 5, 2024-12-31 22:59:59.999999, 2024-12-31
--| 7, 2024-07-02 03:00:00, 2024-07-01
--| 20, 2024-10-28 01:30:00, 2024-10-28

SET TIME ZONE 'Europe/Berlin';
--| key string, value string
--| 'spark.sql.session.timeZone', 'Europe/Berlin'

CREATE TABLE seen (id INT, at TIMESTAMP) USING delta;

INSERT INTO seen VALUES (1, TIMESTAMP '2026-03-28 02:30:00'), (2, TIMESTAMP '2026-03-29 03:30:00'), (3, NULL), (4, TIMESTAMP '2026-10-24 02:30:00'), (5, TIMESTAMP '2026-10-25 01:30:00Z'), (6, TIMESTAMP '2026-11-24 02:30:00');

SELECT id, count(*) OVER (ORDER BY at RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS c FROM seen ORDER BY id;
--| id int, c bigint
--| 1, 1
--| 2, 1
--| 3, 1
--| 4, 1
--| 5, 2
--| 6, 1

SELECT id, count(*) OVER (ORDER BY at RANGE BETWEEN INTERVAL 24 HOURS PRECEDING AND CURRENT ROW) AS c FROM seen ORDER BY id;
--| id int, c bigint
--| 1, 1
--| 2, 1
--| 3, 1
--| 4, 1
--| 5, 2
--| 6, 1

SELECT id, count(*) OVER (ORDER BY at DESC RANGE BETWEEN INTERVAL '1 01:00' DAY TO MINUTE PRECEDING AND INTERVAL 30 MINUTES FOLLOWING) AS c FROM seen ORDER BY id;
--! DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_DIFF_TYPES

SELECT id, count(*) OVER (ORDER BY at RANGE BETWEEN INTERVAL 8 MONTHS PRECEDING AND INTERVAL 1 MONTH PRECEDING) AS c FROM seen ORDER BY id;
--| id int, c bigint
--| 1, 0
--| 2, 0
--| 3, 1
--| 4, 2
--| 5, 2
--| 6, 3

SET TIME ZONE INTERVAL '-3:30' HOUR TO MINUTE;
--| key string, value string
--| 'spark.sql.session.timeZone', '-03:30'

SELECT current_timezone(), TIMESTAMP '2026-01-01 00:00:00Z';
--| current_timezone() string, TIMESTAMP '2025-12-31 20:30:00' timestamp
--| '-03:30', 2026-01-01 00:00:00

SET TIME ZONE INTERVAL 1 HOUR 30 MINUTES;
--| key string, value string
--| 'spark.sql.session.timeZone', '+01:30'

SET TIME ZONE INTERVAL 0 HOURS;
--| key string, value string
--| 'spark.sql.session.timeZone', 'Z'

SET TIME ZONE INTERVAL 19 HOURS;
--! INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE

SET TIME ZONE INTERVAL 1 MONTH;
--! INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE

SET TIME ZONE 'UTC';
--| key string, value string
--| 'spark.sql.session.timeZone', 'UTC'
