-- LIKE and ILIKE of one pattern, of a pattern in a column, and of ANY or ALL of several.

CREATE TABLE t (id INT, name STRING, pattern STRING) USING delta;

INSERT INTO t VALUES (1, 'John', 'J%'), (2, 'Dan', 'd_n'), (3, 'Evan_w', '%\\_w'), (4, NULL, '%'), (5, 'a\\b', NULL);

SELECT id FROM t WHERE name LIKE ANY ('%an', 'J%') ORDER BY id;
--| id int
--| 1
--| 2

SELECT id FROM t WHERE name NOT LIKE ALL ('%an%', 'J%') ORDER BY id;
--| id int
--| 5

SELECT name LIKE ANY ('%an', 'J%'), name NOT LIKE SOME ('%an', 'J%'), name LIKE ALL ('%a%', '%n%'), name NOT LIKE ALL ('%an%') FROM t ORDER BY id;
--| likeany(name) boolean, notlikeany(name) boolean, likeall(name) boolean, notlikeall(name) boolean
--| true, true, false, true
--| true, true, true, false
--| false, true, true, false
--| NULL, NULL, NULL, NULL
--| false, true, false, true

SELECT name ILIKE ANY ('%AN', 'j%'), name NOT ILIKE ALL ('%AN', 'j%'), name ILIKE 'dA_', name NOT ILIKE 'dA_' FROM t ORDER BY id;
--| likeany(lower(name)) boolean, notlikeall(lower(name)) boolean, ilike(name, dA_) boolean, (NOT ilike(name, dA_)) boolean
--| true, false, false, true
--| true, false, true, false
--| false, true, false, true
--| NULL, NULL, NULL, NULL
--| false, true, false, true

SELECT name LIKE ANY (pattern, 'Dan'), name NOT LIKE ALL (pattern, 'Dan') FROM t ORDER BY id;
--| (name LIKE pattern OR name LIKE Dan) boolean, ((NOT name LIKE pattern) AND (NOT name LIKE Dan)) boolean
--| true, false
--| true, false
--| true, false
--| NULL, NULL
--| NULL, NULL

SELECT name LIKE '%$_w' ESCAPE '$', name NOT LIKE '%!_%' ESCAPE '!', name LIKE 'a\\b' ESCAPE '/', name LIKE 'a\\\\b' FROM t ORDER BY id;
--| name LIKE %$_w ESCAPE '$' boolean, (NOT name LIKE %!_% ESCAPE '!') boolean, name LIKE a\b ESCAPE '/' boolean, name LIKE a\\b boolean
--| false, true, false, false
--| false, true, false, false
--| true, false, false, false
--| NULL, NULL, NULL, NULL
--| false, true, true, true

SELECT name LIKE pattern, name NOT LIKE pattern FROM t ORDER BY id;
--| name LIKE pattern boolean, (NOT name LIKE pattern) boolean
--| true, false
--| false, true
--| true, false
--| NULL, NULL
--| NULL, NULL

SELECT t.id FROM t JOIN t AS u ON t.name LIKE u.pattern ORDER BY t.id, u.id;
--| id int
--| 1
--| 1
--| 2
--| 3
--| 3
--| 5

SELECT name LIKE 'a!n' ESCAPE '!' FROM t;
--! INVALID_FORMAT.ESC_IN_THE_MIDDLE

SELECT name LIKE 'a!' ESCAPE '!' FROM t;
--! INVALID_FORMAT.ESC_AT_THE_END

SELECT name LIKE 'a' ESCAPE '!!' FROM t;
--! INVALID_ESC

SELECT 'a' LIKE name FROM t WHERE id = 5;
--! INVALID_FORMAT.ESC_IN_THE_MIDDLE
