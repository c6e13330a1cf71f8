-- Aggregates over groups, with NULL and NaN among the values.

CREATE TABLE rows (id INT, kind STRING, x DOUBLE, price DECIMAL(5, 2)) USING delta;

INSERT INTO rows VALUES (1, 'a', 10.5D, 1.25), (2, 'a', NULL, 2.50), (3, 'b', -1.0D, 3.75), (4, 'b', double('NaN'), NULL), (5, NULL, 0.0D, 5.00);

SELECT count(*), count(x), count(DISTINCT kind), count_if(id > 2) FROM rows;
--| count(1) bigint, count(x) bigint, count(DISTINCT kind) bigint, count_if((id > 2)) bigint
--| 5, 4, 2, 3

SELECT sum(id), sum(price), avg(id), avg(price) FROM rows;
--| sum(id) bigint, sum(price) decimal(15,2), avg(id) double, avg(price) decimal(9,6)
--| 15, 12.50, 3.0, 3.125000

SELECT min(x), max(x), min(kind), max(kind) FROM rows;
--| min(x) double, max(x) double, min(kind) string, max(kind) string
--| -1.0, NaN, 'a', 'b'

SELECT kind, count(*), sum(id) FROM rows GROUP BY kind ORDER BY kind;
--| kind string, count(1) bigint, sum(id) bigint
--| NULL, 1, 5
--| 'a', 2, 3
--| 'b', 2, 7

SELECT kind, count(*) FROM rows GROUP BY ALL HAVING count(*) > 1 ORDER BY kind DESC;
--| kind string, count(1) bigint
--| 'b', 2
--| 'a', 2

SELECT id % 2 AS odd, max_by(kind, id), min_by(kind, id) FROM rows GROUP BY odd ORDER BY odd;
--| odd int, max_by(kind, id) string, min_by(kind, id) string
--| 0, 'b', 'a'
--| 1, NULL, 'a'

SELECT sort_array(collect_list(id)) AS ids, sort_array(collect_set(kind)) AS kinds FROM rows;
--| ids array<int>, kinds array<string>
--| [1, 2, 3, 4, 5], ['a', 'b']

SELECT bool_and(id > 0), bool_or(id > 4), every(id > 1), some(id > 1) FROM rows;
--| bool_and((id > 0)) boolean, bool_or((id > 4)) boolean, every((id > 1)) boolean, some((id > 1)) boolean
--| true, true, false, true

SELECT bit_and(id), bit_or(id), bit_xor(id) FROM rows;
--| bit_and(id) int, bit_or(id) int, bit_xor(id) int
--| 0, 7, 1

SELECT stddev(id), variance(id), stddev_pop(id), var_pop(id) FROM rows;
--| stddev(id) double, variance(id) double, stddev_pop(id) double, var_pop(id) double
--| 1.5811388300841898, 2.5, 1.4142135623730951, 2.0

SELECT median(id), percentile(id, 0.25) AS quarter, mode(kind) FROM rows WHERE kind = 'a' OR id = 3;
--| median(id) double, quarter double, mode(kind) string
--| 2.0, 1.5, 'a'

SELECT sum(id) FILTER (WHERE kind = 'a'), sum(DISTINCT id % 2) FROM rows;
--| sum(id) FILTER (WHERE (kind = a)) bigint, sum(DISTINCT (id % 2)) bigint
--| 3, 1

SELECT kind, sum(id) FROM rows GROUP BY ROLLUP (kind) ORDER BY kind NULLS LAST, 2;
--| kind string, sum(id) bigint
--| 'a', 3
--| 'b', 7
--| NULL, 5
--| NULL, 15

SELECT sum(x), count(*), max(price) FROM rows WHERE id > 10;
--| sum(x) double, count(1) bigint, max(price) decimal(5,2)
--| NULL, 0, NULL

SELECT first(id), last(id), any_value(id) FROM rows WHERE id = 3;
--| first(id) int, last(id) int, any_value(id) int
--| 3, 3, 3

SELECT sum(CAST(9223372036854775807 AS BIGINT)) FROM range(2);
--! ARITHMETIC_OVERFLOW

SELECT try_sum(CAST(9223372036854775807 AS BIGINT)), try_avg(id) FROM range(2);
--| try_sum(CAST(9223372036854775807 AS BIGINT)) bigint, try_avg(id) double
--| NULL, 0.5

SELECT avg(try_divide(1.5BD, id)) AS mean, try_avg(try_divide(1.5BD, id)) AS tried FROM VALUES (1), (9), (6), (0) AS t(id);
--| mean decimal(17,16), tried decimal(17,16)
--| 0.6388888888890000, 0.6388888888890000

SELECT k, max(struct(n, s)) AS greatest, min(struct(n, s)).s AS of_least, max(array(n, 1)) AS arrays, max_by(s, struct(n, k)) AS by_two FROM VALUES (1, 'a', 10), (1, 'b', NULL), (1, 'c', 5), (2, 'd', NULL) AS t(k, s, n) GROUP BY k;
--| k int, greatest struct<n:int,s:string>, of_least string, arrays array<int>, by_two string
--| 1, {n: 10, s: 'a'}, 'b', [10, 1], 'a'
--| 2, {n: NULL, s: 'd'}, 'd', [NULL, 1], 'd'

SELECT sort_array(collect_list(struct(n, s))) AS sorted, array_max(collect_list(struct(n, s))).s AS last FROM VALUES ('a', 10), ('b', NULL), ('c', 5) AS t(s, n);
--| sorted array<struct<n:int,s:string>>, last string
--| [{n: NULL, s: 'b'}, {n: 5, s: 'c'}, {n: 10, s: 'a'}], 'a'
