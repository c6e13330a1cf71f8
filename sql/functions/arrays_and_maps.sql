-- Functions over arrays, maps and structs, and those that take functions.

SELECT array(1, 2, NULL), size(array(1, 2)), element_at(array(1, 2), -1);
--| array(1, 2, NULL) array<int>, size(array(1, 2)) int, element_at(array(1, 2), -1) int
--| [1, 2, NULL], 2, 2

SELECT array_contains(array(1, 2), 2), array_position(array('a', 'b'), 'b'), array_distinct(array(1, 1, 2));
--| array_contains(array(1, 2), 2) boolean, array_position(array(a, b), b) bigint, array_distinct(array(1, 1, 2)) array<int>
--| true, 2, [1, 2]

SELECT array_union(array(1, 2), array(2, 3)), array_intersect(array(1, 2), array(2, 3)), array_except(array(1, 2), array(2, 3));
--| array_union(array(1, 2), array(2, 3)) array<int>, array_intersect(array(1, 2), array(2, 3)) array<int>, array_except(array(1, 2), array(2, 3)) array<int>
--| [1, 2, 3], [2], [1]

SELECT sort_array(array(3, 1, 2)) AS sorted, sort_array(array(3, 1, 2), false), array_min(array(3, 1)), array_max(array(3, 1));
--| sorted array<int>, sort_array(array(3, 1, 2), false) array<int>, array_min(array(3, 1)) int, array_max(array(3, 1)) int
--| [1, 2, 3], [3, 2, 1], 1, 3

SELECT array_join(array('a', 'b'), '-'), flatten(array(array(1), array(2, 3))), slice(array(1, 2, 3, 4), 2, 2);
--| array_join(array(a, b), -) string, flatten(array(array(1), array(2, 3))) array<int>, slice(array(1, 2, 3, 4), 2, 2) array<int>
--| 'a-b', [1, 2, 3], [2, 3]

SELECT array_repeat('a', 2), sequence(1, 5, 2), reverse(array(1, 2)), concat(array(1), array(2));
--| array_repeat(a, 2) array<string>, sequence(1, 5, 2) array<int>, reverse(array(1, 2)) array<int>, concat(array(1), array(2)) array<int>
--| ['a', 'a'], [1, 3, 5], [2, 1], [1, 2]

SELECT transform(array(1, 2), x -> x + 1), filter(array(1, 2, 3), x -> x > 1), exists(array(1, 2), x -> x = 2);
--| transform(array(1, 2), lambdafunction((namedlambdavariable() + 1), namedlambdavariable())) array<int>, filter(array(1, 2, 3), lambdafunction((namedlambdavariable() > 1), namedlambdavariable())) array<int>, exists(array(1, 2), lambdafunction((namedlambdavariable() = 2), namedlambdavariable())) boolean
--| [2, 3], [2, 3], true

SELECT forall(array(1, 2), x -> x > 0), aggregate(array(1, 2, 3), 0, (a, x) -> a + x) AS total, zip_with(array(1, 2), array(3, 4), (x, y) -> x * y);
--| forall(array(1, 2), lambdafunction((namedlambdavariable() > 0), namedlambdavariable())) boolean, total int, zip_with(array(1, 2), array(3, 4), lambdafunction((namedlambdavariable() * namedlambdavariable()), namedlambdavariable(), namedlambdavariable())) array<int>
--| true, 6, [3, 8]

SELECT map('a', 1, 'b', 2), map('a', 1)['a'], element_at(map('a', 1), 'b'), map_keys(map('a', 1)), map_values(map('a', 1));
--| map(a, 1, b, 2) map<string,int>, map(a, 1)[a] int, element_at(map(a, 1), b) int, map_keys(map(a, 1)) array<string>, map_values(map(a, 1)) array<int>
--| map('a': 1, 'b': 2), 1, NULL, ['a'], [1]

SELECT map_from_arrays(array('a', 'b'), array(1, 2)), map_entries(map('a', 1)), map_contains_key(map('a', 1), 'a');
--| map_from_arrays(array(a, b), array(1, 2)) map<string,int>, map_entries(map(a, 1)) array<struct<key:string,value:int>>, map_contains_key(map(a, 1), a) boolean
--| map('a': 1, 'b': 2), [{key: 'a', value: 1}], true

SELECT named_struct('a', 1, 'b', 'x'), named_struct('a', 1).a, struct(1, 'x');
--| named_struct(a, 1, b, x) struct<a:int,b:string>, named_struct(a, 1).a int, struct(1, x) struct<col1:int,col2:string>
--| {a: 1, b: 'x'}, 1, {col1: 1, col2: 'x'}

SELECT arrays_zip(array(1, 2), array('a', 'b')), array_compact(array(1, NULL, 2)), array_append(array(1), 2);
--| arrays_zip(array(1, 2), array(a, b)) array<struct<0:int,1:string>>, array_compact(array(1, NULL, 2)) array<int>, array_append(array(1), 2) array<int>
--| [{0: 1, 1: 'a'}, {0: 2, 1: 'b'}], [1, 2], [1, 2]

SELECT col FROM (SELECT explode(array(1, 2)) AS col);
--| col int
--| 1
--| 2

SELECT key, value FROM (SELECT explode(map('a', 1, 'b', 2)));
--| key string, value int
--| 'a', 1
--| 'b', 2

SELECT id, item FROM range(2 * 1, 2 + 2) LATERAL VIEW explode(IF(id = 2, array('x', 'y'), array('z'))) AS item;
--| id bigint, item string
--| 2, 'x'
--| 2, 'y'
--| 3, 'z'

SELECT array(1, 2)[1];
--| array(1, 2)[1] int
--| 2

SELECT items[5] FROM (SELECT array(1, 2) AS items);
--! INVALID_ARRAY_INDEX

SELECT map('a', 1)['b'];
--| map(a, 1)[b] int
--| NULL

SELECT CAST(array(1, 2) AS ARRAY<INT>)[0] AS first;
--| first int
--| 1

SELECT CAST(NULL AS STRUCT<at: TIMESTAMP, days: ARRAY<TIMESTAMP_NTZ>>) AS nothing;
--| nothing struct<at:timestamp,days:array<timestamp_ntz>>
--| NULL

SELECT array(1, NULL) = array(1, NULL) AS same, array(1, NULL) <> array(1, 2) AS other, array(0.0D) = array(-0.0D) AS zeros;
--| same boolean, other boolean, zeros boolean
--| true, true, true

SELECT named_struct('a', 1, 'b', array('x')) IN (named_struct('a', 1, 'b', array('x'))) AS found, array(1) <=> NULL AS is_null;
--| found boolean, is_null boolean
--| true, false

SELECT map_contains_key(map(1, 'a'), 1L) AS wider, map_contains_key(map(1.5, 'a'), 1) AS other, map_contains_key(map(CAST(1 AS TINYINT), 'a'), 300) AS beyond, map_contains_key(map(1, 'a'), 1.0) AS decimals;
--| wider boolean, other boolean, beyond boolean, decimals boolean
--| true, false, false, true

SELECT map_contains_key(map(1, 'a'), NULL);
--! DATATYPE_MISMATCH.NULL_TYPE
