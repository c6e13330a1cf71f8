-- Parts of variants by their paths, as other types, and variants of JSON texts.

CREATE TABLE events (id INT, event VARIANT) USING delta;

INSERT INTO events SELECT id, parse_json(json) FROM VALUES (1, '{"kind": "sale", "at": {"x": 1.50, "y": "12"}, "tags": ["a", null, {"b": true}]}'), (2, '{"kind": null, "at": []}'), (3, 'null'), (4, NULL), (5, '"12"') AS t(id, json);

SELECT id, event:kind::string AS kind, event:at.x::double AS x, event:at.y::int AS y FROM events ORDER BY id;
--| id int, kind string, x double, y int
--| 1, 'sale', 1.5, 12
--| 2, NULL, NULL, NULL
--| 3, NULL, NULL, NULL
--| 4, NULL, NULL, NULL
--| 5, NULL, NULL, NULL

SELECT id, event:tags[0]::string AS first, event:['tags'][2].b::boolean AS b FROM events WHERE event:kind::string = 'sale';
--| id int, first string, b boolean
--| 1, 'a', true

SELECT id, to_json(event:at) AS at, CAST(event AS STRING) AS text FROM events ORDER BY id;
--| id int, at string, text string
--| 1, '{"x":1.5,"y":"12"}', '{"at":{"x":1.5,"y":"12"},"kind":"sale","tags":["a",null,{"b":true}]}'
--| 2, '[]', '{"at":[],"kind":null}'
--| 3, NULL, NULL
--| 4, NULL, NULL
--| 5, NULL, '12'

SELECT id, is_variant_null(event) AS is_null, is_variant_null(event:kind) AS kind_is_null, event IS NULL AS missing FROM events ORDER BY id;
--| id int, is_null boolean, kind_is_null boolean, missing boolean
--| 1, false, false, false
--| 2, false, true, false
--| 3, true, false, false
--| 4, false, false, true
--| 5, false, false, false

SELECT id, try_variant_get(event, '$', 'int') AS number, variant_get(event, '$.at.x', 'decimal(5,3)') AS x FROM events ORDER BY id;
--| id int, number int, x decimal(5,3)
--| 1, NULL, 1.500
--| 2, NULL, NULL
--| 3, NULL, NULL
--| 4, NULL, NULL
--| 5, 12, NULL

SELECT id, TRY_CAST(event:at AS INT) AS at FROM events ORDER BY id;
--| id int, at int
--| 1, NULL
--| 2, NULL
--| 3, NULL
--| 4, NULL
--| 5, NULL

SELECT event:kind::string AS kind, count(*) AS n FROM events GROUP BY ALL ORDER BY kind;
--| kind string, n bigint
--| NULL, 4
--| 'sale', 1

SELECT e.id, f.id AS other FROM events AS e JOIN events AS f ON e.event:at.y::string = f.event::string;
--| id int, other int
--| 1, 5

CREATE TABLE places USING delta AS SELECT id, event:at AS at FROM events WHERE id < 3;

SELECT id, at:x::double AS x, to_json(at) AS at FROM places ORDER BY id;
--| id int, x double, at string
--| 1, 1.5, '{"x":1.5,"y":"12"}'
--| 2, NULL, '[]'

SELECT CASE WHEN a = 'c' THEN to_json(parse_json('b')) END AS json FROM VALUES ('b') AS t(a);
--| json string
--| NULL

SELECT try_parse_json('{') IS NULL AS malformed, to_json(try_parse_json('[1, 2.0]')) AS list;
--| malformed boolean, list string
--| true, '[1,2]'

SELECT id, event:tags::array<string> AS tags, event:at::struct<x: DOUBLE, y: INT, z: DATE> AS at FROM events WHERE id = 1;
--| id int, tags array<string>, at struct<x:double,y:int,z:date>
--| 1, ['a', NULL, '{"b":true}'], {x: 1.5, y: 12, z: NULL}

SELECT cast(parse_json('{"x": 1.50, "y": "12"}') AS MAP<STRING, DOUBLE>) AS entries, variant_get(parse_json('{"at": {"y": 12}}'), '$', 'struct<kind: string, at: struct<y: string>>') AS nested;
--| entries map<string,double>, nested struct<kind:string,at:struct<y:string>>
--| map('x': 1.5, 'y': 12.0), {kind: NULL, at: {y: '12'}}

SELECT id, try_cast(event AS MAP<STRING, STRING>) AS entries, try_cast(event AS ARRAY<INT>) AS list, try_variant_get(event, '$.tags', 'array<boolean>') AS flags FROM events ORDER BY id;
--| id int, entries map<string,string>, list array<int>, flags array<boolean>
--| 1, map('at': '{"x":1.5,"y":"12"}', 'kind': 'sale', 'tags': '["a",null,{"b":true}]'), NULL, [NULL, NULL, NULL]
--| 2, map('at': '[]', 'kind': NULL), NULL, NULL
--| 3, NULL, NULL, NULL
--| 4, NULL, NULL, NULL
--| 5, NULL, NULL, NULL

SELECT event:tags::array<int> FROM events WHERE id = 1;
--! INVALID_VARIANT_CAST

SELECT cast(parse_json('{"1": 2}') AS MAP<INT, INT>);
--! DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION

SELECT size(parts) AS n, to_json(parts[1]) AS second FROM (SELECT cast(parse_json('[1, {"a": null}, null]') AS ARRAY<VARIANT>) AS parts);
--| n int, second string
--| 3, '{"a":null}'

SELECT id, pos, key, to_json(value) AS value, value:x::double AS x FROM events, LATERAL variant_explode(event) ORDER BY id, pos;
--| id int, pos int, key string, value string, x double
--| 1, 0, 'at', '{"x":1.5,"y":"12"}', 1.5
--| 1, 1, 'kind', '"sale"', NULL
--| 1, 2, 'tags', '["a",null,{"b":true}]', NULL
--| 2, 0, 'at', '[]', NULL
--| 2, 1, 'kind', 'null', NULL

SELECT id, t.pos, t.key, t.value::string AS value FROM events, LATERAL variant_explode(event:tags) AS t ORDER BY id, pos;
--| id int, pos int, key string, value string
--| 1, 0, NULL, 'a'
--| 1, 1, NULL, NULL
--| 1, 2, NULL, '{"b":true}'

SELECT pos, key, value IS NULL AS missing FROM variant_explode_outer(parse_json('1'));
--| pos int, key string, missing boolean
--| NULL, NULL, true

SELECT part:y::int AS y, is_variant_null(part) AS is_null FROM (SELECT id, event:at AS part FROM events) WHERE part:x::double > 1 ORDER BY id;
--| y int, is_null boolean
--| 12, false

SELECT count(*) AS n FROM variant_explode(NULL);
--| n bigint
--| 0

SELECT variant_explode(parse_json('[1]'));
--! NOT_A_SCALAR_FUNCTION

SELECT schema_of_variant(event) AS shape FROM events ORDER BY id;
--| shape string
--| 'OBJECT<at: OBJECT<x: DECIMAL(2,1), y: STRING>, kind: STRING, tags: ARRAY<VARIANT>>'
--| 'OBJECT<at: ARRAY<VOID>, kind: VOID>'
--| 'VOID'
--| NULL
--| 'STRING'

SELECT schema_of_variant_agg(event:at) AS shape, schema_of_variant_agg(event:nothing) AS nothing FROM events;
--| shape string, nothing string
--| 'VARIANT', 'VOID'

SELECT schema_of_variant(to_variant_object(named_struct('b', 1, 'a', array(DATE '2024-01-01'), 'c', named_struct('x', 1.50, 'w', TIMESTAMP '2024-01-01 00:00:00')))) AS shape;
--| shape string
--| 'OBJECT<a: ARRAY<DATE>, b: BIGINT, c: OBJECT<w: TIMESTAMP, x: DECIMAL(2,1)>>'

SELECT to_json(to_variant_object(array(named_struct('z', 'q"', 'y', X'00FF'), NULL))) AS object, to_json(cast(TIMESTAMP_NTZ '2024-01-01 10:00:00.5' AS VARIANT)) AS time, cast(cast(1.5F AS VARIANT) AS DOUBLE) AS number, CAST(NULL AS VARIANT) IS NULL AS nothing;
--| object string, time string, number double, nothing boolean
--| '[{"y":"AP8=","z":"q\\""},null]', '"2024-01-01 10:00:00.5"', 1.5, true

SELECT to_variant_object(1);
--! DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION

SELECT variant_get(parse_json(j), '$', 'timestamp') AS time FROM VALUES ('1'), ('-1.23456789'), ('1.5e3'), ('"2024-01-01 10:00:00"'), ('null') AS t(j);
--| time timestamp
--| 1969-12-31 23:59:58.765433
--| 1970-01-01 00:00:01
--| 1970-01-01 00:25:00
--| 2024-01-01 10:00:00
--| NULL
