-- Moments, regressions of pairs, and shares of ordered values; pairs in which one is NULL do not count.

CREATE TABLE pairs (id INT, x DOUBLE, y DOUBLE) USING delta;

INSERT INTO pairs VALUES (1, 1.0D, 3.0D), (2, 2.0D, 5.0D), (3, 3.0D, 7.0D), (4, 6.0D, 4.0D), (5, NULL, 9.0D), (6, 8.0D, NULL);

SELECT round(skewness(y), 6) AS skewness, round(kurtosis(y), 6) AS kurtosis FROM pairs;
--| skewness double, kurtosis double
--| 0.403407, -1.236326

SELECT round(covar_pop(y, x), 6) AS covar_pop, round(covar_samp(y, x), 6) AS covar_samp, round(corr(y, x), 6) AS corr FROM pairs;
--| covar_pop double, covar_samp double, corr double
--| 0.25, 0.333333, 0.090351

SELECT regr_count(y, x), regr_avgx(y, x), regr_avgy(y, x) FROM pairs;
--| regr_count(y, x) bigint, regr_avgx(y, x) double, regr_avgy(y, x) double
--| 4, 3.0, 4.75

SELECT round(regr_sxx(y, x), 6) AS sxx, round(regr_sxy(y, x), 6) AS sxy, round(regr_syy(y, x), 6) AS syy FROM pairs;
--| sxx double, sxy double, syy double
--| 14.0, 1.0, 8.75

SELECT regr_slope(y, x) AS slope, regr_intercept(y, x) AS intercept, regr_r2(y, x) AS r2 FROM pairs WHERE id < 4;
--| slope double, intercept double, r2 double
--| 2.0, 1.0, 1.0

SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY y) AS middle, percentile_disc(0.5) WITHIN GROUP (ORDER BY y) AS given FROM pairs;
--| middle double, given double
--| 5.0, 5.0

SELECT listagg(id, '-') WITHIN GROUP (ORDER BY id DESC) AS ids, string_agg(id, ',') WITHIN GROUP (ORDER BY id) AS others FROM pairs;
--| ids string, others string
--| '6-5-4-3-2-1', '1,2,3,4,5,6'

SELECT listagg('it''s', ';') WITHIN GROUP (ORDER BY 'it''s') AS same, listagg(a, ';') WITHIN GROUP (ORDER BY NULL, a DESC) AS others FROM VALUES ('p'), ('q') AS t(a);
--| same string, others string
--| 'it\'s;it\'s', 'q;p'

SELECT percentile_approx(c, 0.5), percentile_approx(c, array(0, 0.25, 0.5, 0.75, 1)) AS parts, approx_percentile(c, 0.5, 100), percentile_approx(c, 0.00001) AS least, percentile_approx(DISTINCT c, 0.5) AS middle FROM VALUES (1), (2), (2), (2), (3), (10), (NULL) AS t(c);
--| percentile_approx(c, 0.5, 10000) int, parts array<int>, approx_percentile(c, 0.5, 100) int, least int, middle int
--| 2, [1, 2, 2, 3, 10], 2, 1, 2

SELECT percentile_approx(d, 0.5) AS day, percentile_approx(t, 1) AS time, percentile_approx(m, 0.1) AS m, percentile_approx(f, array(0.5, 0.9)) AS f, percentile_approx(l, 0.9) AS l, percentile_approx(s, 0.5) AS s FROM VALUES (DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00:00.123456', 1.50, 5.5F, 9223372036854775807, '1'), (DATE '2024-01-03', NULL, 2.5, 0.0F, 1, '2e1') AS v(d, t, m, f, l, s);
--| day date, time timestamp, m decimal(3,2), f array<float>, l bigint, s double
--| 2024-01-01, 2024-01-01 10:00:00.123456, 1.50, [0.0, 5.5], 9223372036854775807, 1.0

SELECT percentile_approx(c, 0.5) AS middle, percentile_approx(c, array(0.5)) AS parts FROM VALUES (1) AS t(c) WHERE false;
--| middle int, parts array<int>
--| NULL, NULL

SELECT k, percentile_approx(c, 0.5) FILTER (WHERE c > 1) AS middle FROM VALUES (1, 1), (1, 2), (1, 3), (2, 1) AS t(k, c) GROUP BY k;
--| k int, middle int
--| 1, 2
--| 2, NULL

SELECT c, percentile_approx(c, 0.5) OVER (PARTITION BY c % 2) AS middle FROM VALUES (1), (2), (3) AS t(c);
--| c int, middle int
--| 1, 1
--| 2, 2
--| 3, 1

SELECT percentile_approx(id, array(0.1, 0.25, 0.333333, 0.5, 0.9, 0.9999)) AS parts FROM range(10000);
--| parts array<bigint>
--| [999, 2499, 3333, 4999, 8999, 9999]
