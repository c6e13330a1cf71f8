-- Silver: one row an order, as its last event says. Malformed events stay in bronze; a cancelled order goes.
-- A batch that was merged before changes nothing, also where later ones were: their events come after its own,
-- so that an order which they cancelled stays away.

CREATE TABLE IF NOT EXISTS delta.`${lake}/silver/orders` (
  order_id BIGINT NOT NULL,
  product STRING NOT NULL,
  quantity INT,
  price DECIMAL(8, 2),
  status STRING,
  ordered_at TIMESTAMP,
  event_id BIGINT COMMENT 'the last event of the order',
  order_date DATE GENERATED ALWAYS AS (CAST(ordered_at AS DATE))
) USING delta PARTITIONED BY (order_date)
TBLPROPERTIES (
  'delta.enableDeletionVectors' = 'true',
  'delta.enableChangeDataFeed' = 'true',
  'delta.enableRowTracking' = 'true',
  'delta.constraints.quantity_is_positive' = 'quantity > 0'
);

MERGE INTO delta.`${lake}/silver/orders` AS t
USING (
  SELECT * EXCEPT (place) FROM (
    SELECT *, row_number() OVER (PARTITION BY order_id ORDER BY event_id DESC) AS place FROM (
      SELECT
        try_cast(order_id AS BIGINT) AS order_id,
        product,
        try_cast(quantity AS INT) AS quantity,
        try_cast(price AS DECIMAL(8, 2)) AS price,
        status,
        try_cast(at AS TIMESTAMP) AS ordered_at,
        try_cast(event_id AS BIGINT) AS event_id
      FROM delta.`${lake}/bronze/events`
      WHERE batch >= ${batch}
    )
    WHERE order_id IS NOT NULL AND quantity > 0 AND price IS NOT NULL AND ordered_at IS NOT NULL
      AND status IN ('placed', 'paid', 'cancelled')
  )
  WHERE place = 1
) AS s
ON t.order_id = s.order_id
WHEN MATCHED AND s.event_id > t.event_id AND s.status = 'cancelled' THEN DELETE
WHEN MATCHED AND s.event_id > t.event_id THEN UPDATE SET
  product = s.product, quantity = s.quantity, price = s.price, status = s.status,
  ordered_at = s.ordered_at, event_id = s.event_id
WHEN NOT MATCHED AND s.status <> 'cancelled' THEN INSERT
  (order_id, product, quantity, price, status, ordered_at, event_id)
  VALUES (s.order_id, s.product, s.quantity, s.price, s.status, s.ordered_at, s.event_id);
