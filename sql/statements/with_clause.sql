-- A WITH clause before a change of rows names queries that the change reads.

CREATE TABLE orders (id INT, name STRING) USING delta;

WITH news AS (SELECT 1 AS id, 'ink' AS name), more(k, n) AS (SELECT id + 1, name FROM news)
INSERT INTO orders SELECT * FROM news UNION ALL SELECT * FROM more;

WITH news AS (SELECT 2 AS id, 'pen' AS name UNION ALL SELECT 3, 'nib')
MERGE INTO orders AS o USING news AS n ON o.id = n.id
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 2, 1, 0, 1

SELECT * FROM orders ORDER BY id;
--| id int, name string
--| 1, 'ink'
--| 2, 'pen'
--| 3, 'nib'

WITH news AS (SELECT 4 AS id, 'cap' AS name)
INSERT OVERWRITE orders SELECT * FROM news;

SELECT * FROM orders;
--| id int, name string
--| 4, 'cap'

WITH news AS (SELECT 5 AS id) SELECT * FROM news;
--| id int
--| 5
