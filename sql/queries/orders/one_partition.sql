-- Orders of one day, by which the table is partitioned.
SELECT count(*) AS orders, sum(cents) AS cents, max(comment) AS comment
FROM orders
WHERE day = DATE '2024-01-08';
