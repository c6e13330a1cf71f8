-- Generators make several rows of one.

CREATE TABLE t (id INT, parts ARRAY<STRING>, counts MAP<STRING, INT>) USING delta;

INSERT INTO t VALUES (1, array('a', 'b'), map('k', 1)), (2, array(), NULL), (3, NULL, map());

SELECT id, explode(parts) AS part FROM t;
--| id int, part string
--| 1, 'a'
--| 1, 'b'

SELECT id, part FROM t LATERAL VIEW OUTER explode(parts) AS part;
--| id int, part string
--| 1, 'a'
--| 1, 'b'
--| 2, NULL
--| 3, NULL

SELECT id, place, part FROM t LATERAL VIEW posexplode(parts) AS place, part;
--| id int, place int, part string
--| 1, 0, 'a'
--| 1, 1, 'b'

SELECT id, name, count FROM t LATERAL VIEW explode(counts) AS name, count;
--| id int, name string, count int
--| 1, 'k', 1

SELECT * FROM t LATERAL VIEW inline(array(struct(1, 'x'), struct(2, 'y'))) AS one, two WHERE id = 1;
--| id int, parts array<string>, counts map<string,int>, one int, two string
--| 1, ['a', 'b'], map('k': 1), 1, 'x'
--| 1, ['a', 'b'], map('k': 1), 2, 'y'

SELECT stack(2, 1, 'a', 2, 'b') AS (number, name);
--| number int, name string
--| 1, 'a'
--| 2, 'b'
