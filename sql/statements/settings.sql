-- A session keeps settings, and SET shows them.

SET spark.databricks.delta.schema.autoMerge.enabled;
--| key string, value string
--| 'spark.databricks.delta.schema.autoMerge.enabled', 'false'

SET spark.databricks.delta.schema.autoMerge.enabled = true;
--| key string, value string
--| 'spark.databricks.delta.schema.autoMerge.enabled', 'true'

SET spark.databricks.delta.schema.autoMerge.enabled;
--| key string, value string
--| 'spark.databricks.delta.schema.autoMerge.enabled', 'true'

RESET spark.databricks.delta.schema.autoMerge.enabled;

SET spark.databricks.delta.schema.autoMerge.enabled;
--| key string, value string
--| 'spark.databricks.delta.schema.autoMerge.enabled', 'false'

SET spark.sql.sources.partitionOverwriteMode = dynamic;
--| key string, value string
--| 'spark.sql.sources.partitionOverwriteMode', 'dynamic'

SET spark.sql.shuffle.partitions = 1;
--| key string, value string
--| 'spark.sql.shuffle.partitions', '1'

SET spark.sql.caseSensitive;
--| key string, value string
--| 'spark.sql.caseSensitive', 'false'

SET spark.sql.caseSensitive = false;
--| key string, value string
--| 'spark.sql.caseSensitive', 'false'

SET spark.sql.storeAssignmentPolicy = ansi;
--| key string, value string
--| 'spark.sql.storeAssignmentPolicy', 'ansi'

SET spark.databricks.delta.merge.optimizeInsertOnlyMerge.enabled = false;
--| key string, value string
--| 'spark.databricks.delta.merge.optimizeInsertOnlyMerge.enabled', 'false'

RESET spark.databricks.delta.merge.optimizeInsertOnlyMerge.enabled;

SET TIME ZONE 'UTC';
--| key string, value string
--| 'spark.sql.session.timeZone', 'UTC'

RESET spark.sql.sources.partitionOverwriteMode;

CREATE TABLE t (id INT) USING delta;

--? one node: nothing is kept in memory from one statement to the next
CACHE TABLE t;

--? one node: nothing is kept in memory from one statement to the next
UNCACHE TABLE IF EXISTS t;
