-- Files are copied into a table, each of them once, which Spark's open source has no statement for.

CREATE TABLE orders (id INT, name STRING, day DATE) USING delta;

--+ [PARSE_SYNTAX_ERROR]
COPY INTO orders FROM '${data}/orders' FILEFORMAT = CSV PATTERN = '*.csv' FORMAT_OPTIONS ('header' = 'true');
--| num_affected_rows bigint, num_inserted_rows bigint, num_skipped_corrupt_files bigint
--| 3, 3, 0

-- The table remembers the files, whatever the statement is that names them again.
--+ [PARSE_SYNTAX_ERROR]
COPY INTO orders FROM '${data}/orders'
FILEFORMAT = CSV
FILES = ('first.csv')
FORMAT_OPTIONS ('header' = 'true');
--| num_affected_rows bigint, num_inserted_rows bigint, num_skipped_corrupt_files bigint
--| 0, 0, 0

--+ [PARSE_SYNTAX_ERROR]
COPY INTO orders FROM (SELECT -CAST(id AS INT) AS id, upper(name) AS name FROM '${data}/orders' AS f WHERE name <> 'x')
FILEFORMAT = CSV
FILES = ('first.csv')
FORMAT_OPTIONS ('header' = 'true')
COPY_OPTIONS ('force' = 'true');
--| num_affected_rows bigint, num_inserted_rows bigint, num_skipped_corrupt_files bigint
--| 1, 1, 0

-- Rows are checked as if they were copied, and the first ones are shown.
--+ [PARSE_SYNTAX_ERROR]
COPY INTO orders FROM '${data}/orders'
FILEFORMAT = CSV VALIDATE 1 ROWS
FILES = ('first.csv')
FORMAT_OPTIONS ('header' = 'true')
COPY_OPTIONS ('force' = 'true');
--| id int, name string, day date
--| 1, 'ink', 2026-01-02

--+ [PARSE_SYNTAX_ERROR]
COPY INTO orders FROM '${data}/orders' FILEFORMAT = JSON FILES = ('more.json');
--! DELTA_METADATA_MISMATCH

--+ [PARSE_SYNTAX_ERROR]
COPY INTO orders FROM '${data}/orders' FILEFORMAT = JSON FILES = ('more.json') COPY_OPTIONS ('mergeSchema' = 'true');
--| num_affected_rows bigint, num_inserted_rows bigint, num_skipped_corrupt_files bigint
--| 2, 2, 0

SELECT * FROM orders ORDER BY id;
--| id int, name string, day date, tags array<string>
--| -1, 'INK', NULL, NULL
--| 1, 'ink', 2026-01-02, NULL
--| 2, NULL, 2026-01-03, NULL
--| 3, 'pen, red', 2026-01-04, NULL
--| 4, 'cup', NULL, ['new']
--| 5, NULL, NULL, NULL

CREATE TABLE prices (id INT, price DECIMAL(9,2)) USING delta;

--+ [PARSE_SYNTAX_ERROR]
COPY INTO prices
FROM (SELECT CAST(_c0 AS INT) AS id, CAST(replace(_c1, ',', '.') AS DECIMAL(9,2)) AS price FROM '${data}/prices')
FILEFORMAT = CSV
FORMAT_OPTIONS ('sep' = ';', 'nullValue' = 'NA');
--| num_affected_rows bigint, num_inserted_rows bigint, num_skipped_corrupt_files bigint
--| 2, 2, 0

SELECT * FROM prices ORDER BY id;
--| id int, price decimal(9,2)
--| 1, 2.50
--| 3, NULL

--+ [PARSE_SYNTAX_ERROR]
COPY INTO prices FROM '${data}/nothing' FILEFORMAT = PARQUET;
--! PATH_NOT_FOUND

--+ [PARSE_SYNTAX_ERROR]
COPY INTO prices FROM '${data}/prices' FILEFORMAT = CSV FILES = ('../orders/first.csv');
--! PATH_NOT_FOUND
