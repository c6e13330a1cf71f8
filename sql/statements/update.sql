-- Values of rows that a condition chooses are changed.

CREATE TABLE orders (id INT, name STRING, price DECIMAL(8, 2), tags ARRAY<STRING>, at STRUCT<street: STRING, zip: INT>) USING delta;

INSERT INTO orders VALUES
  (1, 'ink', 2.50, array('new'), named_struct('street', 'Elm', 'zip', 1)),
  (2, NULL, 1, NULL, NULL),
  (3, 'pen', NULL, array(), named_struct('street', NULL, 'zip', 3));

UPDATE orders SET price = price * 2 WHERE id = 1;
--| num_affected_rows bigint
--| 1

UPDATE orders SET name = coalesce(name, 'none'), price = 0.5 WHERE price IS NULL OR name IS NULL;
--| num_affected_rows bigint
--| 2

SELECT id, name, price FROM orders ORDER BY id;
--| id int, name string, price decimal(8,2)
--| 1, 'ink', 5.00
--| 2, 'none', 0.50
--| 3, 'pen', 0.50

UPDATE orders o SET o.at.zip = o.at.zip + 1 WHERE o.at IS NOT NULL;
--| num_affected_rows bigint
--| 2

SELECT id, at FROM orders ORDER BY id;
--| id int, at struct<street:string,zip:int>
--| 1, {street: 'Elm', zip: 2}
--| 2, NULL
--| 3, {street: NULL, zip: 4}

UPDATE orders SET tags = array('all');
--| num_affected_rows bigint
--| 3

SELECT id, tags FROM orders ORDER BY id;
--| id int, tags array<string>
--| 1, ['all']
--| 2, ['all']
--| 3, ['all']
