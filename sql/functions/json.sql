-- JSON texts taken apart, read into values of any type, and written.

CREATE TABLE payloads (id INT, body STRING) USING delta;

INSERT INTO payloads VALUES (1, '{"user": {"name": "Ada", "tags": ["x", null]}, "total": 12.50, "ok": true}'), (2, '{"user": null, "total": "7"}'), (3, '[1, 2]'), (4, NULL);

SELECT id, p.* FROM payloads LATERAL VIEW json_tuple(body, 'total', 'ok', 'user') p AS total, ok, user ORDER BY id;
--| id int, total string, ok string, user string
--| 1, '12.5', 'true', '{"name":"Ada","tags":["x",null]}'
--| 2, '7', NULL, NULL
--| 3, NULL, NULL, NULL
--| 4, NULL, NULL, NULL

SELECT json_tuple(body, 'total', 'none') FROM payloads WHERE id < 3 ORDER BY id;
--| c0 string, c1 string
--| '12.5', NULL
--| '7', NULL

SELECT id, from_json(body, 'user STRUCT<name: STRING, tags: ARRAY<STRING>>, ok BOOLEAN') AS found FROM payloads WHERE id < 3 ORDER BY id;
--| id int, found struct<user:struct<name:string,tags:array<string>>,ok:boolean>
--| 1, {user: {name: 'Ada', tags: ['x', NULL]}, ok: true}
--| 2, {user: NULL, ok: NULL}

SELECT id, from_json(body, 'ARRAY<BIGINT>') AS found FROM payloads WHERE id > 2 ORDER BY id;
--| id int, found array<bigint>
--| 3, [1, 2]
--| 4, NULL

SELECT get_json_object(body, '$.user.name') AS name, get_json_object(body, '$.user.tags[0]') AS tag FROM payloads WHERE id < 3 ORDER BY id;
--| name string, tag string
--| 'Ada', 'x'
--| NULL, NULL

SELECT to_json(named_struct('id', id, 'list', array(id, NULL), 'day', DATE'2026-01-02')) AS text FROM payloads ORDER BY id;
--| text string
--| '{"id":1,"list":[1,null],"day":"2026-01-02"}'
--| '{"id":2,"list":[2,null],"day":"2026-01-02"}'
--| '{"id":3,"list":[3,null],"day":"2026-01-02"}'
--| '{"id":4,"list":[4,null],"day":"2026-01-02"}'

SELECT get_json_object('{"a": {"b": [1, 2]}}', '$.a.b[1]') AS second, get_json_object('{"a": 1}', '$.c') AS missing;
--| second string, missing string
--| '2', NULL

SELECT json_array_length('[1, 2, 3]') AS length, json_object_keys('{"a": 1, "b": 2}') AS names;
--| length int, names array<string>
--| 3, ['a', 'b']

SELECT from_json('{"a": 1, "b": "x"}', 'a INT, b STRING') AS parsed;
--| parsed struct<a:int,b:string>
--| {a: 1, b: 'x'}

SELECT from_json('nothing', 'a INT') AS malformed;
--| malformed struct<a:int>
--| {a: NULL}

SELECT to_json(named_struct('a', 1, 'b', array('x', NULL))) AS written, to_json(map('k', CAST(NULL AS INT))) AS entries;
--| written string, entries string
--| '{"a":1,"b":["x",null]}', '{"k":null}'

SELECT schema_of_json('{"b": [1, 2.5], "a": {"x y": null, "z": 12345678901234567890}, "c": [], "B": true}') AS shape, schema_of_json('[1, "x"]') AS mixed, schema_of_json('[{"a": 1}, {"b": 1e3}]') AS merged;
--| shape string, mixed string, merged string
--| 'STRUCT<B: BOOLEAN, a: STRUCT<`x y`: STRING, z: DECIMAL(20,0)>, b: ARRAY<DOUBLE>, c: ARRAY<STRING>>', 'ARRAY<STRING>', 'ARRAY<STRUCT<a: BIGINT, b: DOUBLE>>'

SELECT from_json('{"a": 1, "b": "x"}', schema_of_json('{"a": 2, "b": "y"}')) AS found;
--| found struct<a:bigint,b:string>
--| {a: 1, b: 'x'}
