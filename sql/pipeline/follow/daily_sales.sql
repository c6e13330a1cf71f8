-- Gold in step with silver, on one node, while Spark goes on writing. Groups of which an order has changed since
-- the last run are computed anew from silver, so that whoever merged them before, and how often, does not matter.

SET spark.databricks.delta.write.txnAppId = deltaarrow.pipeline.follow;

MERGE INTO delta.`${lake}/gold/daily_sales` AS t
USING (
  WITH changed AS (
    SELECT order_date, product FROM table_changes_by_path('${lake}/silver/orders')
    UNION
    -- The first run does not know what silver once had: it looks at all that gold has.
    SELECT order_date, product FROM delta.`${lake}/gold/daily_sales` WHERE NOT is_incremental()
  )
  SELECT
    changed.order_date,
    changed.product,
    count(silver.order_id) AS orders,
    CAST(coalesce(sum(silver.quantity), 0) AS BIGINT) AS quantity,
    CAST(coalesce(sum(silver.quantity * silver.price), 0) AS DECIMAL(28, 2)) AS revenue
  FROM changed
  LEFT JOIN delta.`${lake}/silver/orders` AS silver
    ON silver.order_date = changed.order_date AND silver.product = changed.product
  GROUP BY changed.order_date, changed.product
) AS s
ON t.order_date = s.order_date AND t.product = s.product
WHEN MATCHED AND s.orders = 0 THEN DELETE
WHEN MATCHED AND (t.orders <> s.orders OR t.quantity <> s.quantity OR t.revenue <> s.revenue) THEN UPDATE SET *
WHEN NOT MATCHED AND s.orders > 0 THEN INSERT *;
