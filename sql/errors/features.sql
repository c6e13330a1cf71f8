-- What features of tables do not allow.

CREATE TABLE numbered (id BIGINT GENERATED ALWAYS AS IDENTITY, v STRING) USING delta;

UPDATE numbered SET id = 5;
--! DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED

INSERT INTO numbered (id, v) VALUES (5, 'x');
--! DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED

CREATE TABLE clustered (id INT, v STRING) USING delta CLUSTER BY (id);

OPTIMIZE clustered ZORDER BY (id);
--! DELTA_CLUSTERING_WITH_ZORDER_BY

SELECT * FROM table_changes('clustered', 0);
--! DELTA_MISSING_CHANGE_DATA

CREATE TABLE followed (id INT) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');

SELECT * FROM table_changes('followed', 9);
--! DELTA_CDC_START_VERSION_AFTER_LATEST
