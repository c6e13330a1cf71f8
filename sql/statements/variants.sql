-- Parts of variants in the conditions and values of DELETE, UPDATE and MERGE.

CREATE TABLE events (id INT, event VARIANT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true');

INSERT INTO events SELECT id, parse_json(json) FROM VALUES (1, '{"kind": "sale", "at": {"x": 1}}'), (2, '{"kind": null}'), (3, 'null'), (4, NULL), (5, '{"kind": "visit", "tags": ["a", "b"]}'), (6, '"12"') AS t(id, json);

DELETE FROM events WHERE event:kind::string = 'sale';
--| num_affected_rows bigint
--| 1

DELETE FROM events WHERE event:kind::int = 1;
--! INVALID_VARIANT_CAST

UPDATE events SET id = event::int + 1, event = parse_json(concat('{"was": ', to_json(event), '}')) WHERE try_cast(event AS INT) = 12;
--| num_affected_rows bigint
--| 1

UPDATE events SET event = event:tags WHERE size(event:tags::array<string>) = 2;
--| num_affected_rows bigint
--| 1

MERGE INTO events AS t USING (SELECT 5 AS id, parse_json('{"n": 7}') AS change UNION ALL SELECT 8, parse_json('[1]')) AS s ON t.id = s.id WHEN MATCHED AND s.change:n::int = 7 THEN UPDATE SET id = s.change:n::int WHEN NOT MATCHED THEN INSERT (id, event) VALUES (s.id, s.change);
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 2, 1, 0, 1

SELECT id, to_json(event) AS event FROM events ORDER BY id;
--| id int, event string
--| 2, '{"kind":null}'
--| 3, 'null'
--| 4, NULL
--| 7, '["a","b"]'
--| 8, '[1]'
--| 13, '{"was":"12"}'

-- Conditions of a table on parts of variants are stored, and every writer obeys them.

CREATE TABLE checked (id INT, event VARIANT) USING delta;

ALTER TABLE checked ADD CONSTRAINT counted CHECK (variant_get(event, '$.n', 'int') > 0);

ALTER TABLE checked ADD CONSTRAINT named CHECK (try_variant_get(event, '$.kind', 'string') <> 'bad' OR is_variant_null(event));

INSERT INTO checked SELECT id, parse_json(json) FROM VALUES (1, '{"n": 1, "kind": "sale"}'), (2, '{"n": 2, "kind": 7}') AS t(id, json);

INSERT INTO checked SELECT 3, parse_json('{"n": 3, "kind": "bad"}');
--! DELTA_VIOLATE_CONSTRAINT_WITH_VALUES

INSERT INTO checked SELECT 3, parse_json('{"n": null, "kind": "sale"}');
--! DELTA_VIOLATE_CONSTRAINT_WITH_VALUES

UPDATE checked SET event = parse_json('{"n": -1, "kind": "sale"}') WHERE id = 1;
--! DELTA_VIOLATE_CONSTRAINT_WITH_VALUES

UPDATE checked SET event = parse_json('{"n": 10, "kind": "visit"}') WHERE id = 1;
--| num_affected_rows bigint
--| 1

ALTER TABLE checked ADD CONSTRAINT large CHECK (variant_get(event, '$.n', 'int') > 2);
--! DELTA_NEW_CHECK_CONSTRAINT_VIOLATION

SELECT id, to_json(event) AS event FROM checked ORDER BY id;
--| id int, event string
--| 1, '{"kind":"visit","n":10}'
--| 2, '{"kind":7,"n":2}'
