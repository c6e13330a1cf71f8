-- A feature is added by name, which Spark's open source does not read.

CREATE TABLE t (id INT) USING delta;

--+ [PARSE_SYNTAX_ERROR]
ALTER TABLE t ADD FEATURE checkConstraints;

ALTER TABLE t ADD CONSTRAINT small CHECK (id < 10);

SELECT * FROM t;
--| id int
