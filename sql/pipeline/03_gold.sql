-- Gold: what was sold on each day, as silver has it now. Groups that did not change are left alone.

CREATE TABLE IF NOT EXISTS delta.`${lake}/gold/daily_sales` (
  order_date DATE,
  product STRING,
  orders BIGINT,
  quantity BIGINT,
  revenue DECIMAL(28, 2)
) USING delta
TBLPROPERTIES ('delta.enableDeletionVectors' = 'true');

MERGE INTO delta.`${lake}/gold/daily_sales` AS t
USING (
  SELECT order_date, product, count(*) AS orders, sum(CAST(quantity AS BIGINT)) AS quantity,
    CAST(sum(quantity * price) AS DECIMAL(28, 2)) AS revenue
  FROM delta.`${lake}/silver/orders`
  GROUP BY order_date, product
) AS s
ON t.order_date = s.order_date AND t.product = s.product
WHEN MATCHED AND (t.orders <> s.orders OR t.quantity <> s.quantity OR t.revenue <> s.revenue) THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *
WHEN NOT MATCHED BY SOURCE THEN DELETE;
