-- PIVOT for one column and for several, and UNPIVOT of one column and of several.

CREATE TABLE sales (year INT, course STRING, earnings INT) USING delta;

INSERT INTO sales VALUES (2012, 'dotNET', 10000), (2012, 'Java', 20000), (2012, 'dotNET', 5000), (2013, 'dotNET', 48000), (2013, 'Java', 30000);

CREATE TABLE quarters (place STRING, q1 INT, q2 INT, q3 INT, q4 BIGINT) USING delta;

INSERT INTO quarters VALUES ('Toronto', 100, 80, 70, 150), ('Oslo', NULL, 20, NULL, NULL);

SELECT * FROM sales PIVOT (sum(earnings) FOR course IN ('dotNET', 'Java')) ORDER BY year;
--| year int, dotNET bigint, Java bigint
--| 2012, 15000, 20000
--| 2013, 48000, 30000

SELECT * FROM sales PIVOT (sum(earnings) AS s, avg(earnings) AS a FOR course IN ('dotNET' AS d, 'Java' AS j)) ORDER BY year;
--| year int, d_s bigint, d_a double, j_s bigint, j_a double
--| 2012, 15000, 7500.0, 20000, 20000.0
--| 2013, 48000, 48000.0, 30000, 30000.0

SELECT * FROM sales PIVOT (sum(earnings) FOR (course, year) IN (('dotNET', 2012) AS d12, ('Java', 2013) AS j13, ('Go', 2013)));
--| d12 bigint, j13 bigint, {Go, 2013} bigint
--| 15000, 30000, NULL

SELECT * FROM sales PIVOT (sum(earnings) AS s, count(*) AS n FOR (course, year) IN (('dotNET', 2012) AS d12, ('Java', 2013) AS j13));
--| d12_s bigint, d12_n bigint, j13_s bigint, j13_n bigint
--| 15000, 2, 30000, 1

SELECT * FROM quarters UNPIVOT (sales FOR quarter IN (q1 AS `Jan-Mar`, q2, q4)) ORDER BY place, quarter;
--| place string, q3 int, quarter string, sales bigint
--| 'Oslo', NULL, 'q2', 20
--| 'Toronto', 70, 'Jan-Mar', 100
--| 'Toronto', 70, 'q2', 80
--| 'Toronto', 70, 'q4', 150

SELECT * FROM quarters UNPIVOT INCLUDE NULLS (sales FOR quarter IN (q1, q2)) ORDER BY place, quarter;
--| place string, q3 int, q4 bigint, quarter string, sales int
--| 'Oslo', NULL, NULL, 'q1', NULL
--| 'Oslo', NULL, NULL, 'q2', 20
--| 'Toronto', 70, 150, 'q1', 100
--| 'Toronto', 70, 150, 'q2', 80

SELECT * FROM quarters UNPIVOT ((first, second) FOR half IN ((q1, q2) AS H1, (q3, q4) AS H2)) ORDER BY place, half;
--| place string, half string, first int, second bigint
--| 'Oslo', 'H1', NULL, 20
--| 'Toronto', 'H1', 100, 80
--| 'Toronto', 'H2', 70, 150

SELECT * FROM quarters UNPIVOT INCLUDE NULLS ((first, second) FOR half IN ((q1, q2), (q3, q4))) AS u ORDER BY u.place, half;
--| place string, half string, first int, second bigint
--| 'Oslo', 'q1_q2', NULL, 20
--| 'Oslo', 'q3_q4', NULL, NULL
--| 'Toronto', 'q1_q2', 100, 80
--| 'Toronto', 'q3_q4', 70, 150
