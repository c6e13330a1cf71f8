-- Documents in JSON are taken apart and made.

SELECT get_json_object('{"a": {"b": [1, 2]}}', '$.a.b[1]') AS second, get_json_object('{"a": 1}', '$.c') AS missing;
--| second string, missing string
--| '2', NULL

SELECT json_array_length('[1, 2, 3]') AS length, json_object_keys('{"a": 1, "b": 2}') AS names;
--| length int, names array<string>
--| 3, ['a', 'b']

SELECT from_json('{"a": 1, "b": "x"}', 'a INT, b STRING') AS parsed;
--| parsed struct<a:int,b:string>
--| {a: 1, b: 'x'}

--? one node: a malformed document is refused
SELECT from_json('nothing', 'a INT') AS malformed;
--| malformed struct<a:int>
--| {a: NULL}

SELECT to_json(named_struct('a', 1, 'b', array('x', NULL))) AS written, to_json(map('k', CAST(NULL AS INT))) AS entries;
--| written string, entries string
--| '{"a":1,"b":["x",null]}', '{"k":null}'
