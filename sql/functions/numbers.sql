-- Functions over numbers compute and fail as in ANSI mode.

SELECT abs(-3), abs(CAST(-2.5 AS DOUBLE)), sign(-7), negative(4), positive(4) AS same;
--| abs(-3) int, abs(CAST(-2.5 AS DOUBLE)) double, sign(-7) double, negative(4) int, same int
--| 3, 2.5, -1.0, -4, 4

SELECT 7 DIV 2, 7 % 3, -7 % 3, pmod(-7, 3), mod(7, 3), 7 / 2;
--| (7 div 2) bigint, (7 % 3) int, (-7 % 3) int, pmod(-7, 3) int, mod(7, 3) int, (7 / 2) double
--| 3, 1, -1, 2, 1, 3.5

SELECT ceil(2.1), floor(-2.1), round(2.5), round(-2.5), round(1234.567, 2), round(1234.567, -2);
--| CEIL(2.1) decimal(2,0), FLOOR(-2.1) decimal(2,0), round(2.5, 0) decimal(2,0), round(-2.5, 0) decimal(2,0), round(1234.567, 2) decimal(7,2), round(1234.567, -2) decimal(5,0)
--| 3, -3, 3, -3, 1234.57, 1200

SELECT sqrt(16.0D), pow(2, 10), exp(0), ln(1), log10(1000), log2(8);
--| SQRT(16.0) double, pow(2, 10) double, EXP(0) double, ln(1) double, LOG10(1000) double, LOG2(8) double
--| 4.0, 1024.0, 1.0, 0.0, 3.0, 3.0

SELECT sin(0), cos(0), atan2(0, 1), degrees(0), radians(0);
--| SIN(0) double, COS(0) double, ATAN2(0, 1) double, DEGREES(0) double, RADIANS(0) double
--| 0.0, 1.0, 0.0, 0.0, 0.0

SELECT greatest(1, 3, NULL, 2), least(1, 3, NULL, 2), nanvl(CAST('NaN' AS DOUBLE), 5.0D);
--| greatest(1, 3, NULL, 2) int, least(1, 3, NULL, 2) int, nanvl(CAST(NaN AS DOUBLE), 5.0) double
--| 3, 1, 5.0

SELECT 5 & 3, 5 | 3, 5 ^ 3, ~5, shiftleft(1, 10), shiftright(-8, 1);
--| (5 & 3) int, (5 | 3) int, (5 ^ 3) int, ~5 int, shiftleft(1, 10) int, shiftright(-8, 1) int
--| 1, 7, 6, -6, 1024, -4

SELECT bit_count(255), hex(255), factorial(5);
--| bit_count(255) int, hex(255) string, factorial(5) bigint
--| 8, 'FF', 120

SELECT conv('ff', 16, 10);
--| conv(ff, 16, 10) string
--| '255'

SELECT CAST('12' AS INT), CAST(12.7 AS INT), CAST('1.25' AS DECIMAL(5, 2)), CAST(true AS INT);
--| CAST(12 AS INT) int, CAST(12.7 AS INT) int, CAST(1.25 AS DECIMAL(5,2)) decimal(5,2), CAST(true AS INT) int
--| 12, 12, 1.25, 1

SELECT try_cast('x' AS INT) AS a, try_cast('300' AS TINYINT) AS b, try_divide(1, 0), try_add(2147483647, 1);
--| a int, b tinyint, try_divide(1, 0) double, try_add(2147483647, 1) int
--| NULL, NULL, NULL, NULL

SELECT hash(1, 'a', NULL), hash(CAST(1 AS BIGINT)), hash('Delta');
--| hash(1, a, NULL) int, hash(CAST(1 AS BIGINT)) int, hash(Delta) int
--| -936062819, -1712319331, 1320461214

SELECT width_bucket(5.3, 0.2, 10.6, 5), isnan(CAST('NaN' AS DOUBLE)), bit_count(7);
--| width_bucket(5.3, 0.2, 10.6, 5) bigint, isnan(CAST(NaN AS DOUBLE)) boolean, bit_count(7) int
--| 3, true, 3

SELECT CAST(1.5 AS DECIMAL(3, 1)) * CAST(2.25 AS DECIMAL(4, 2)), 1.0 / 3, 10.00 + 0.125;
--| (CAST(1.5 AS DECIMAL(3,1)) * CAST(2.25 AS DECIMAL(4,2))) decimal(8,3), (1.0 / 3) decimal(7,6), (10.00 + 0.125) decimal(6,3)
--| 3.375, 0.333333, 10.125

SELECT 1 / 0;
--! DIVIDE_BY_ZERO

SELECT 2147483647 + 1;
--! ARITHMETIC_OVERFLOW

SELECT CAST('x' AS INT);
--! CAST_INVALID_INPUT

SELECT CAST(300 AS TINYINT);
--! CAST_OVERFLOW

SELECT 1 - 1.5 AS digits, CAST(1 AS INT) - 1.5 AS digits_of_int, int(1) * 1.5 AS product;
--| digits decimal(3,1), digits_of_int decimal(12,1), product decimal(13,1)
--| -0.5, -0.5, 1.5

SELECT id, id IN (1, 6 div (id - 1)) AS found FROM range(1, 5);
--| id bigint, found boolean
--| 1, true
--| 2, false
--| 3, true
--| 4, false
