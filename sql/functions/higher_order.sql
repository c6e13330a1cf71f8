-- Functions take functions over the elements of arrays and the entries of maps.

SELECT transform(array(1, 2), x -> x + 1) AS more, transform(array('a', 'b'), (x, i) -> x || i) AS placed;
--| more array<int>, placed array<string>
--| [2, 3], ['a0', 'b1']

SELECT filter(array(1, NULL, 3), x -> x > 1) AS kept, exists(array(1, NULL), x -> x > 1) AS unknown, forall(array(1, 2), x -> x > 0) AS all_of;
--| kept array<int>, unknown boolean, all_of boolean
--| [3], NULL, true

SELECT aggregate(array(1, 2, 3), 0, (a, x) -> a + x) AS total, reduce(array(1, 2), 1, (a, x) -> a * x, a -> a + 10) AS finished;
--| total int, finished int
--| 6, 12

SELECT zip_with(array(1, 2), array('a'), (x, y) -> concat(x, y)) AS zipped;
--| zipped array<string>
--| ['1a', NULL]

SELECT map_filter(map('a', 1, 'b', 2), (k, v) -> v > 1) AS kept, transform_values(map('a', 1), (k, v) -> v + 1) AS changed, transform_keys(map('a', 1), (k, v) -> upper(k)) AS renamed;
--| kept map<string,int>, changed map<string,int>, renamed map<string,int>
--| map('b': 2), map('a': 2), map('A': 1)

SELECT array_sort(array(3, NULL, 1)) AS sorted, array_insert(array(1, 3), 2, 2) AS inserted, array_prepend(array(1), 0) AS before, array_remove(array(1, 2, 1), 1) AS without;
--| sorted array<int>, inserted array<int>, before array<int>, without array<int>
--| [1, 3, NULL], [1, 2, 3], [0, 1], [2]

SELECT map_concat(map('a', 1), map('b', 2)) AS both, map_from_entries(array(struct('a', 1))) AS made, get(array(1, 2), 5) AS beyond, arrays_overlap(array(1, 2), array(2)) AS shared;
--| both map<string,int>, made map<string,int>, beyond int, shared boolean
--| map('a': 1, 'b': 2), map('a': 1), NULL, true
