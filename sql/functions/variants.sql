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

SELECT try_parse_json('{') IS NULL AS malformed, to_json(try_parse_json('[1, 2.0]')) AS list;
--| malformed boolean, list string
--| true, '[1,2]'
