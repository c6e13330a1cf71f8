-- A session sets the properties of new tables that do not say otherwise.

CREATE TABLE plain (id INT) USING delta;

SET spark.databricks.delta.properties.defaults.checkpointInterval = 7;
--| key string, value string
--| 'spark.databricks.delta.properties.defaults.checkpointInterval', '7'

SET spark.databricks.delta.properties.defaults.enableChangeDataFeed = true;
--| key string, value string
--| 'spark.databricks.delta.properties.defaults.enableChangeDataFeed', 'true'

SET spark.databricks.delta.properties.defaults.checkpointInterval;
--| key string, value string
--| 'spark.databricks.delta.properties.defaults.checkpointInterval', '7'

CREATE TABLE made (id INT) USING delta;

SHOW TBLPROPERTIES made;
--| key string, value string
--| 'delta.checkpointInterval', '7'
--| 'delta.enableChangeDataFeed', 'true'
--| 'delta.feature.appendOnly', 'supported'
--| 'delta.feature.changeDataFeed', 'supported'
--| 'delta.feature.invariants', 'supported'
--| 'delta.minReaderVersion', '1'
--| 'delta.minWriterVersion', '7'

CREATE TABLE otherwise USING delta TBLPROPERTIES ('delta.checkpointInterval' = '9') AS SELECT 1 AS id;

SHOW TBLPROPERTIES otherwise;
--| key string, value string
--| 'delta.checkpointInterval', '9'
--| 'delta.enableChangeDataFeed', 'true'
--| 'delta.feature.appendOnly', 'supported'
--| 'delta.feature.changeDataFeed', 'supported'
--| 'delta.feature.invariants', 'supported'
--| 'delta.minReaderVersion', '1'
--| 'delta.minWriterVersion', '7'

CREATE TABLE alike LIKE plain;

SHOW TBLPROPERTIES alike;
--| key string, value string
--| 'delta.checkpointInterval', '7'
--| 'delta.enableChangeDataFeed', 'true'
--| 'delta.feature.appendOnly', 'supported'
--| 'delta.feature.changeDataFeed', 'supported'
--| 'delta.feature.invariants', 'supported'
--| 'delta.minReaderVersion', '1'
--| 'delta.minWriterVersion', '7'

CREATE TABLE cloned SHALLOW CLONE plain;

SHOW TBLPROPERTIES cloned;
--| key string, value string
--| 'delta.minReaderVersion', '1'
--| 'delta.minWriterVersion', '2'

CREATE TABLE IF NOT EXISTS plain (id INT) USING delta;

SHOW TBLPROPERTIES plain;
--| key string, value string
--| 'delta.minReaderVersion', '1'
--| 'delta.minWriterVersion', '2'

CREATE OR REPLACE TABLE plain (id INT) USING delta;

SHOW TBLPROPERTIES plain;
--| key string, value string
--| 'delta.checkpointInterval', '7'
--| 'delta.enableChangeDataFeed', 'true'
--| 'delta.feature.appendOnly', 'supported'
--| 'delta.feature.changeDataFeed', 'supported'
--| 'delta.feature.invariants', 'supported'
--| 'delta.minReaderVersion', '1'
--| 'delta.minWriterVersion', '7'

SET spark.databricks.delta.properties.defaults.feature.deletionVectors = supported;
--| key string, value string
--| 'spark.databricks.delta.properties.defaults.feature.deletionVectors', 'supported'

SET spark.databricks.delta.properties.defaults.columnMapping.mode = name;
--| key string, value string
--| 'spark.databricks.delta.properties.defaults.columnMapping.mode', 'name'

CREATE TABLE mapped (`a b` INT) USING delta;

SHOW TBLPROPERTIES mapped ('delta.columnMapping.mode');
--| key string, value string
--| 'delta.columnMapping.mode', 'name'

RESET spark.databricks.delta.properties.defaults.columnMapping.mode;

RESET;

CREATE TABLE later (id INT) USING delta;

SHOW TBLPROPERTIES later;
--| key string, value string
--| 'delta.minReaderVersion', '1'
--| 'delta.minWriterVersion', '2'
