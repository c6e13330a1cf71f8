-- Orders of a range of ids, which statistics find: the bounds are those of the table that is asked.
SELECT count(*) AS orders, sum(cents) AS cents, max(comment) AS comment
FROM orders
WHERE id BETWEEN {first} AND {last};
