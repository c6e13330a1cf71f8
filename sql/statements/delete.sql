-- Rows that a condition chooses are deleted.

CREATE TABLE orders (id INT, name STRING, price DECIMAL(8, 2)) USING delta;

INSERT INTO orders VALUES (1, 'ink', 2.50), (2, NULL, 1), (3, 'pen', NULL), (4, 'cup', 7.25), (5, 'box', 4);

DELETE FROM orders WHERE id = 1;
--| num_affected_rows bigint
--| 1

DELETE FROM orders AS o WHERE o.name IS NULL OR o.price > 7;
--| num_affected_rows bigint
--| 2

SELECT * FROM orders;
--| id int, name string, price decimal(8,2)
--| 3, 'pen', NULL
--| 5, 'box', 4.00

-- A condition that is NULL for a row leaves the row.
DELETE FROM orders WHERE price < 100 AND name LIKE 'p%';
--| num_affected_rows bigint
--| 0

SELECT id FROM orders ORDER BY id;
--| id int
--| 3
--| 5

-- Without a condition, all rows go.
DELETE FROM orders;
--| num_affected_rows bigint
--| 2

SELECT * FROM orders;
--| id int, name string, price decimal(8,2)
