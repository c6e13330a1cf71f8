-- Conditions of DELETE and UPDATE may ask other tables, which Spark's open source refuses.

CREATE TABLE orders (id INT, name STRING) USING delta;

INSERT INTO orders VALUES (1, 'ink'), (2, NULL), (3, 'pen'), (4, 'cup'), (5, 'box');

CREATE TABLE gone (id INT) USING delta;

INSERT INTO gone VALUES (3), (NULL);

--+ [DELTA_UNSUPPORTED_SUBQUERY]
DELETE FROM orders WHERE id IN (SELECT id FROM gone);
--| num_affected_rows bigint
--| 1

--+ [DELTA_UNSUPPORTED_SUBQUERY]
DELETE FROM orders o WHERE EXISTS (SELECT 1 FROM gone g WHERE g.id = o.id - 2);
--| num_affected_rows bigint
--| 1

-- A NULL among the values makes NOT IN unknown for every row.
--+ [DELTA_UNSUPPORTED_SUBQUERY]
DELETE FROM orders WHERE id NOT IN (SELECT id FROM gone);
--| num_affected_rows bigint
--| 0

--+ [DELTA_UNSUPPORTED_SUBQUERY]
UPDATE orders SET name = 'last' WHERE id = (SELECT max(id) + 1 FROM gone);
--| num_affected_rows bigint
--| 1
