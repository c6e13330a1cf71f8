-- Bits of integers, codes of texts, and values that tell rows apart.

SELECT 6 & 3, 6 | 3, 6 ^ 3, ~6, shiftleft(1, 4), shiftright(-16, 2), shiftrightunsigned(-16, 28);
--| (6 & 3) int, (6 | 3) int, (6 ^ 3) int, ~6 int, shiftleft(1, 4) int, shiftright(-16, 2) int, shiftrightunsigned(-16, 28) int
--| 2, 7, 5, -7, 16, -4, 15

SELECT bit_count(7), getbit(5, 2), bin(10), bitmap_bucket_number(40000L), bitmap_bit_position(40000L);
--| bit_count(7) int, getbit(5, 2) tinyint, bin(10) string, bitmap_bucket_number(40000) bigint, bitmap_bit_position(40000) bigint
--| 3, 1, '1010', 2, 7231

SELECT hash('a', 1), sha('a'), sha1('a'), crc32('a');
--| hash(a, 1) int, sha(a) string, sha1(a) string, crc32(a) bigint
--| 532252686, '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8', '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8', 3904355907

SELECT decode(unbase64('YWJj'), 'UTF-8') AS text, url_encode('a b&c') AS encoded, url_decode('a%20b') AS decoded, is_valid_utf8('é') AS valid;
--| text string, encoded string, decoded string, valid boolean
--| 'abc', 'a+b%26c', 'a b', true

SELECT luhn_check('79927398713'), bit_length('é'), octet_length('é');
--| luhn_check(79927398713) boolean, bit_length(é) int, octet_length(é) int
--| true, 16, 2
