-- Window functions over ordered rows, with frames and without.

CREATE TABLE sales (day INT, shop STRING, amount INT) USING delta;

INSERT INTO sales VALUES (1, 'a', 10), (2, 'a', 20), (3, 'a', 20), (1, 'b', 5), (2, 'b', NULL);

SELECT shop, day, row_number() OVER (PARTITION BY shop ORDER BY day) FROM sales ORDER BY shop, day;
--| shop string, day int, row_number() OVER (PARTITION BY shop ORDER BY day ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) int
--| 'a', 1, 1
--| 'a', 2, 2
--| 'a', 3, 3
--| 'b', 1, 1
--| 'b', 2, 2

SELECT shop, day, rank() OVER w, dense_rank() OVER w FROM sales WINDOW w AS (PARTITION BY shop ORDER BY amount) ORDER BY shop, day;
--| shop string, day int, RANK() OVER (PARTITION BY shop ORDER BY amount ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) int, DENSE_RANK() OVER (PARTITION BY shop ORDER BY amount ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) int
--| 'a', 1, 1, 1
--| 'a', 2, 2, 2
--| 'a', 3, 2, 2
--| 'b', 1, 2, 2
--| 'b', 2, 1, 1

SELECT day, percent_rank() OVER (ORDER BY day), cume_dist() OVER (ORDER BY day) FROM sales WHERE shop = 'a' ORDER BY day;
--| day int, PERCENT_RANK() OVER (ORDER BY day ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) double, cume_dist() OVER (ORDER BY day ASC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) double
--| 1, 0.0, 0.3333333333333333
--| 2, 0.5, 0.6666666666666666
--| 3, 1.0, 1.0

SELECT day, ntile(2) OVER (ORDER BY day) FROM sales WHERE shop = 'a' ORDER BY day;
--| day int, ntile(2) OVER (ORDER BY day ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) int
--| 1, 1
--| 2, 1
--| 3, 2

SELECT day, lag(amount) OVER (ORDER BY day), lead(amount, 1, 0) OVER (ORDER BY day) FROM sales WHERE shop = 'a' ORDER BY day;
--| day int, lag(amount, 1, NULL) OVER (ORDER BY day ASC NULLS FIRST ROWS BETWEEN -1 FOLLOWING AND -1 FOLLOWING) int, lead(amount, 1, 0) OVER (ORDER BY day ASC NULLS FIRST ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING) int
--| 1, NULL, 20
--| 2, 10, 20
--| 3, 20, 0

SELECT shop, day, sum(amount) OVER (PARTITION BY shop ORDER BY day) FROM sales ORDER BY shop, day;
--| shop string, day int, sum(amount) OVER (PARTITION BY shop ORDER BY day ASC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) bigint
--| 'a', 1, 10
--| 'a', 2, 30
--| 'a', 3, 50
--| 'b', 1, 5
--| 'b', 2, 5

SELECT day, sum(amount) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM sales WHERE shop = 'a' ORDER BY day;
--| day int, sum(amount) OVER (ORDER BY day ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) bigint
--| 1, 10
--| 2, 30
--| 3, 40

SELECT shop, day, count(*) OVER (), avg(amount) OVER (PARTITION BY shop) FROM sales ORDER BY shop, day;
--| shop string, day int, count(1) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) bigint, avg(amount) OVER (PARTITION BY shop ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) double
--| 'a', 1, 5, 16.666666666666668
--| 'a', 2, 5, 16.666666666666668
--| 'a', 3, 5, 16.666666666666668
--| 'b', 1, 5, 5.0
--| 'b', 2, 5, 5.0

SELECT day, first_value(amount) OVER (ORDER BY day), last_value(amount) OVER (ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM sales WHERE shop = 'a' ORDER BY day;
--| day int, first_value(amount) OVER (ORDER BY day ASC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) int, last_value(amount) OVER (ORDER BY day ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) int
--| 1, 10, 20
--| 2, 10, 20
--| 3, 10, 20

SELECT day, nth_value(amount, 2) OVER (ORDER BY day) FROM sales WHERE shop = 'a' ORDER BY day;
--| day int, nth_value(amount, 2) OVER (ORDER BY day ASC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) int
--| 1, NULL
--| 2, 20
--| 3, 20

SELECT shop, day FROM sales QUALIFY row_number() OVER (PARTITION BY shop ORDER BY day DESC) = 1 ORDER BY shop;
--| shop string, day int
--| 'a', 3
--| 'b', 2

SELECT shop, sum(amount), rank() OVER (ORDER BY sum(amount) DESC) FROM sales GROUP BY shop ORDER BY shop;
--| shop string, sum(amount) bigint, RANK() OVER (ORDER BY sum(amount) DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) int
--| 'a', 50, 1
--| 'b', 5, 2

SELECT row_number() OVER (PARTITION BY shop) FROM sales;
--! WINDOW_FUNCTION_FRAME_NOT_ORDERED
