-- Fields of structs go by name where the columns of the query have the names and types of the table, else by position.

CREATE TABLE t (id INT, st STRUCT<a: INT, b: STRING>, xs ARRAY<STRUCT<a: INT, b: STRING>>) USING delta;

CREATE TABLE s USING delta AS
SELECT 1 AS id, named_struct('b', '5', 'a', 6) AS st, array(named_struct('b', '7', 'a', 8)) AS xs;

INSERT INTO t SELECT * FROM s;

INSERT INTO t SELECT 2 AS id, st, xs FROM s;

INSERT INTO t SELECT 3, st, xs FROM s;

INSERT INTO t SELECT 4L AS id, st, xs FROM s;

INSERT INTO t (st, id, xs) SELECT st, 5 AS id, xs FROM s;

INSERT INTO t (st, id) SELECT st, 6 FROM s;

INSERT INTO t (id, st, xs) SELECT 12 AS id, st, xs FROM s;

INSERT INTO t (id, st) SELECT 13 AS id, st FROM s;

INSERT INTO t (st, xs, id) SELECT st, xs, 14 AS ID FROM s;

INSERT INTO t BY NAME SELECT xs, 7 AS id, st FROM s;

INSERT INTO t BY NAME SELECT xs, 8L AS id, st FROM s;

INSERT INTO t BY NAME SELECT 9 AS id, named_struct('x', 1, 'y', 'z') AS st;

INSERT INTO t BY NAME SELECT 10 AS id, named_struct('A', 1, 'B', 'z') AS st;

INSERT INTO t BY NAME SELECT 11 AS id, named_struct('a', 1) AS st;
--! DELTA_INSERT_COLUMN_ARITY_MISMATCH

INSERT OVERWRITE t SELECT * FROM t WHERE id > 1;

SELECT * FROM t ORDER BY id;
--| id int, st struct<a:int,b:string>, xs array<struct<a:int,b:string>>
--| 2, {a: 6, b: '5'}, [{a: 8, b: '7'}]
--| 3, {a: 5, b: '6'}, [{a: 7, b: '8'}]
--| 4, {a: 5, b: '6'}, [{a: 7, b: '8'}]
--| 5, {a: 5, b: '6'}, [{a: 7, b: '8'}]
--| 6, {a: 5, b: '6'}, NULL
--| 7, {a: 6, b: '5'}, [{a: 8, b: '7'}]
--| 8, {a: 5, b: '6'}, [{a: 7, b: '8'}]
--| 9, {a: 1, b: 'z'}, NULL
--| 10, {a: 1, b: 'z'}, NULL
--| 12, {a: 5, b: '6'}, [{a: 7, b: '8'}]
--| 13, {a: 5, b: '6'}, NULL
--| 14, {a: 5, b: '6'}, [{a: 7, b: '8'}]
