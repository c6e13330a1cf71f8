-- Attempts give NULL where their like raise.

SELECT try_add(2147483647, 1), try_subtract(-2147483648, 1), try_multiply(2147483647, 2), try_divide(1, 0), try_mod(1, 0);
--| try_add(2147483647, 1) int, try_subtract(-2147483648, 1) int, try_multiply(2147483647, 2) int, try_divide(1, 0) double, try_mod(1, 0) int
--| NULL, NULL, NULL, NULL, NULL

SELECT try_cast('x' AS INT), try_element_at(array(1, 2), 5), try_element_at(map('a', 1), 'b'), try_to_timestamp('soon', 'yyyy');
--| TRY_CAST(x AS INT) int, try_element_at(array(1, 2), 5) int, try_element_at(map(a, 1), b) int, try_to_timestamp(soon, yyyy) timestamp
--| NULL, NULL, NULL, NULL

SELECT try_to_date('2026-13-01', 'yyyy-MM-dd') AS day, try_url_decode('a%2') AS text;
--| day date, text string
--| NULL, NULL

SELECT try_make_timestamp(2026, 13, 1, 0, 0, 0) AS zoned, try_make_timestamp_ntz(2026, 1, 32, 0, 0, 0) AS plain;
--| zoned timestamp, plain timestamp_ntz
--| NULL, NULL

SELECT nullifzero(0), zeroifnull(NULL), equal_null(NULL, NULL), nullif(1, 1);
--| nullifzero(0) int, zeroifnull(NULL) int, equal_null(NULL, NULL) boolean, nullif(1, 1) int
--| NULL, 0, true, NULL
