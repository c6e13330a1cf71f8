-- Bronze: raw shop events as they arrive, every column a text. Among them are some that come twice, some that
-- come late and some that are malformed. A batch that was loaded before is replaced.

SELECT assert_true(${events} >= 1 AND ${batch} >= 0, 'batches have numbers from 0 on, and one event or more');

CREATE TABLE IF NOT EXISTS delta.`${lake}/bronze/events` (
  batch BIGINT COMMENT 'the run that loaded the event',
  event_id STRING,
  order_id STRING,
  product STRING,
  quantity STRING,
  price STRING,
  status STRING,
  at STRING
) USING delta PARTITIONED BY (batch);

DELETE FROM delta.`${lake}/bronze/events` WHERE batch = ${batch};

INSERT INTO delta.`${lake}/bronze/events`
WITH numbered AS (
  SELECT id, id % greatest(1, ${events} DIV 3) AS number, pmod(hash(id, 17), 1000) AS chance
  FROM range(${batch} * ${events}, (${batch} + 1) * ${events})
), events AS (
  SELECT
    id,
    chance,
    number AS order_number,
    concat('product ', lpad(pmod(hash(number, 5), 40), 2, '0')) AS product,
    1 + pmod(hash(number, 7), 9) AS quantity,
    CAST(1 + pmod(hash(number, 11), 10000) / 100 AS DECIMAL(8, 2)) AS price,
    CASE WHEN pmod(hash(id, 3), 20) = 0 THEN 'cancelled' WHEN pmod(hash(id, 3), 3) = 0 THEN 'paid'
         ELSE 'placed' END AS status,
    -- The order is of the day that its number says; events that come late belong to orders of long ago.
    timestampadd(SECOND, CAST(pmod(hash(number, 13), 86400) AS INT),
      timestampadd(DAY, CAST(-pmod(hash(number, 19), IF(pmod(hash(number, 23), 30) = 0, 60, 14)) AS INT),
        TIMESTAMP '2026-06-30 00:00:00')) AS at
  FROM numbered
)
SELECT
  ${batch},
  CAST(id AS STRING),
  CASE WHEN chance = 1 THEN NULL ELSE CAST(order_number AS STRING) END,
  product,
  CASE WHEN chance = 2 THEN 'many' WHEN chance = 3 THEN '-1' ELSE CAST(quantity AS STRING) END,
  CASE WHEN chance = 4 THEN 'n/a' ELSE CAST(price AS STRING) END,
  CASE WHEN chance = 5 THEN 'lost?' ELSE status END,
  CASE WHEN chance = 6 THEN 'yesterday' ELSE date_format(at, 'yyyy-MM-dd HH:mm:ss') END
FROM events LATERAL VIEW explode(IF(chance BETWEEN 100 AND 120, array(0, 1), array(0))) AS copy;
