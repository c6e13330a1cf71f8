-- What was ordered until a date, by status: most rows, few columns.
SELECT status, count(*) AS orders, sum(quantity) AS quantity, sum(cents) AS cents
FROM orders
WHERE day < DATE '2026-06-01'
GROUP BY status
ORDER BY status;
