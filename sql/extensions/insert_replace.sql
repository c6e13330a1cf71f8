-- New rows take the place of those that match them, which Spark's open source has no statement for.

CREATE TABLE orders (id INT, day STRING, amount INT) USING delta;

INSERT INTO orders VALUES (1, 'mon', 10), (2, 'mon', 20), (3, 'tue', 30), (4, NULL, 40);

-- NULL equals nothing, so the order without a day stays.
--+ [UNSUPPORTED_FEATURE.TABLE_OPERATION]
INSERT INTO orders REPLACE USING (day) VALUES (5, 'mon', 50), (6, NULL, 60);

--+ [UNSUPPORTED_FEATURE.TABLE_OPERATION]
INSERT INTO orders AS o REPLACE ON o.day <=> n.day AND o.amount < n.amount
(SELECT 7 AS id, CAST(NULL AS STRING) AS day, 50 AS amount) AS n;

-- A query without rows replaces none.
--+ [UNSUPPORTED_FEATURE.TABLE_OPERATION]
INSERT INTO orders REPLACE USING (day) SELECT 8, 'tue', 80 WHERE false;

--+ [UNSUPPORTED_FEATURE.TABLE_OPERATION]
INSERT INTO orders BY NAME REPLACE USING (id, day) SELECT 'tue' AS day, 3 AS id;

--+ [UNSUPPORTED_FEATURE.TABLE_OPERATION]
INSERT INTO orders REPLACE USING (week) VALUES (9, 'wed', 90);
--! UNRESOLVED_COLUMN.WITH_SUGGESTION

SELECT * FROM orders ORDER BY id;
--| id int, day string, amount int
--| 3, 'tue', NULL
--| 5, 'mon', 50
--| 6, NULL, 60
--| 7, NULL, 50
