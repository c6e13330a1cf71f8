-- Namespaces are made, used, listed and dropped.

CREATE SCHEMA IF NOT EXISTS shop_of_script COMMENT 'what is sold';

USE shop_of_script;

DESCRIBE SCHEMA shop_of_script;

SHOW CURRENT NAMESPACE;
--| catalog string, namespace string
--| 'spark_catalog', 'shop_of_script'

CREATE TABLE t (id INT) USING delta;

SHOW TABLES;
--| namespace string, tableName string, isTemporary boolean
--| 'shop_of_script', 't', false

SHOW TABLES IN shop_of_script LIKE 'x*';
--| namespace string, tableName string, isTemporary boolean

SHOW SCHEMAS LIKE 'shop_of*';
--| namespace string
--| 'shop_of_script'

SET CATALOG spark_catalog;

SET CATALOG 'spark_catalog';

SHOW CATALOGS;
--| catalog string
--| 'spark_catalog'

SHOW CATALOGS LIKE 'none*';
--| catalog string

USE spark_catalog;

SHOW CURRENT NAMESPACE;
--| catalog string, namespace string
--| 'spark_catalog', 'shop_of_script'

DROP SCHEMA shop_of_script;
--! SCHEMA_NOT_EMPTY

DROP SCHEMA shop_of_script CASCADE;

DROP SCHEMA IF EXISTS shop_of_script;

SHOW SCHEMAS LIKE 'shop_of*';
--| namespace string
