-- Functions over texts count characters, from 1 on.

SELECT upper('Ink'), lower('Ink'), initcap('red ink'), length('größe'), octet_length('größe');
--| upper(Ink) string, lower(Ink) string, initcap(red ink) string, length(größe) int, octet_length(größe) int
--| 'INK', 'ink', 'Red Ink', 5, 7

SELECT substring('Delta', 2, 3), substr('Delta', -2), left('Delta', 2), right('Delta', 2);
--| substring(Delta, 2, 3) string, substr(Delta, -2, 2147483647) string, left(Delta, 2) string, right(Delta, 2) string
--| 'elt', 'ta', 'De', 'ta'

SELECT concat('a', 1, true), 'a' || 'b', concat_ws('-', 'a', NULL, 'b'), repeat('ab', 3);
--| concat(a, 1, true) string, concat(a, b) string, concat_ws(-, a, NULL, b) string, repeat(ab, 3) string
--| 'a1true', 'ab', 'a-b', 'ababab'

SELECT trim('  a ') AS trimmed, ltrim('  a '), rtrim('  a '), lpad('7', 3, '0'), rpad('7', 3, '0'), lpad(7, 3, '0');
--| trimmed string, ltrim(  a ) string, rtrim(  a ) string, lpad(7, 3, 0) string, rpad(7, 3, 0) string, lpad(7, 3, 0) string
--| 'a', 'a ', '  a', '007', '700', '007'

SELECT instr('banana', 'an'), locate('an', 'banana', 3), contains('banana', 'nan');
--| instr(banana, an) int, locate(an, banana, 3) int, contains(banana, nan) boolean
--| 2, 4, true

SELECT startswith('banana', 'ba'), endswith('banana', 'na'), 'banana' LIKE 'b%a', 'a_b' LIKE 'a\\_b';
--| startswith(banana, ba) boolean, endswith(banana, na) boolean, banana LIKE b%a boolean, a_b LIKE a\_b boolean
--| true, true, true, true

SELECT replace('banana', 'an', 'o'), translate('banana', 'an', 'xy'), overlay('banana', 'XX', 2, 3);
--| replace(banana, an, o) string, translate(banana, an, xy) string, overlay(banana, XX, 2, 3) string
--| 'booa', 'bxyxyx', 'bXXna'

SELECT position('n' IN 'banana'), overlay('banana' PLACING 'XX' FROM 2 FOR 3);
--| locate(n, banana, 1) int, overlay(banana, XX, 2, 3) string
--| 3, 'bXXna'

SELECT split('a,b,c', ','), split_part('a,b,c', ',', 2), substring_index('a.b.c', '.', 2);
--| split(a,b,c, ,, -1) array<string>, split_part(a,b,c, ,, 2) string, substring_index(a.b.c, ., 2) string
--| ['a', 'b', 'c'], 'b', 'a.b'

SELECT regexp_replace('a1b22', '[0-9]+', '#') AS replaced, regexp_extract('a1b22', '([a-z])([0-9]+)', 2), 'abc' RLIKE 'b';
--| replaced string, regexp_extract(a1b22, ([a-z])([0-9]+), 2) string, RLIKE(abc, b) boolean
--| 'a#b#', '1', true

SELECT reverse('abc'), ascii('A'), chr(65), md5('a'), sha2('a', 256), crc32('a');
--| reverse(abc) string, ascii(A) int, chr(65) string, md5(a) string, sha2(a, 256) string, crc32(a) bigint
--| 'cba', 65, 'A', '0cc175b9c0f1b6a831c399e269772661', 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb', 3904355907

SELECT base64('abc'), hex('abc'), CAST(unhex('616263') AS STRING), encode('abc', 'UTF-8');
--| base64(abc) string, hex(abc) string, CAST(unhex(616263) AS STRING) string, encode(abc, UTF-8) binary
--| 'YWJj', '616263', 'abc', X'616263'

SELECT levenshtein('kitten', 'sitting'), soundex('Robert'), find_in_set('b', 'a,b,c');
--| levenshtein(kitten, sitting) int, soundex(Robert) string, find_in_set(b, a,b,c) int
--| 3, 'R163', 2

SELECT upper(NULL), concat('a', NULL), length(''), nullif('a', 'a');
--| upper(NULL) string, concat(a, NULL) string, length() int, nullif(a, a) string
--| NULL, NULL, 0, NULL

SELECT 'it''s', 'a\tb', r'a\tb', "double";
--| it's string, a	b string, a\tb string, double string
--| 'it\'s', 'a	b', 'a\\tb', 'double'

SELECT CAST(1.0D AS STRING), CAST(1e20 AS STRING), CAST(CAST('NaN' AS DOUBLE) AS STRING), CAST(DATE '2026-01-02' AS STRING);
--| CAST(1.0 AS STRING) string, CAST(1.0E20 AS STRING) string, CAST(CAST(NaN AS DOUBLE) AS STRING) string, CAST(DATE '2026-01-02' AS STRING) string
--| '1.0', '1.0E20', 'NaN', '2026-01-02'
