create schema if not exists "spark_catalog"."shop"
;;
select database_name, type from duckdb_databases()
;;
create or replace table "spark_catalog"."shop"."products"  as
select cast("product" as text) as "product", cast("price" as float8) as "price", cast("since" as date) as "since" from "__dbt_seed:products"
;;
select database_name, type from duckdb_databases()
;;
SELECT version()
;;
create or replace table "spark_catalog"."shop"."latest"
cluster by ("id")
as (
select id, quantity, updated_at
from "spark_catalog"."raw"."orders"
)
;;
describe "spark_catalog"."shop"."latest"
;;
create or replace table "spark_catalog"."shop"."log"
as (
select id, updated_at from "spark_catalog"."raw"."orders"
)
;;
create or replace view "spark_catalog"."shop"."priced" as (
select o.id, o.day, o.quantity * p.price as total
from "spark_catalog"."raw"."orders" as o
join "spark_catalog"."shop"."products" as p using (product)
where o.id not in (select id from delta_scan('${folder}/elsewhere/returns'))
)
;;
create or replace table "spark_catalog"."shop"."recent"
as (
select id, day, quantity from "spark_catalog"."raw"."orders"
)
;;
create or replace table "spark_catalog"."shop"."replaced"
as (
select id, day, quantity from "spark_catalog"."raw"."orders"
)
;;
DESCRIBE (select * from (
select day, sum(total)::double as revenue
from "spark_catalog"."shop"."priced"
group by day
) as __dbt_sbq
where false
limit 0
)
;;
DESCRIBE (select * from (
select
cast(null as date)
as day,
cast(null as double)
as revenue
) as __dbt_sbq
where false
limit 0
)
;;
create or replace table "spark_catalog"."shop"."days"
(
day date not null,
revenue double
)
partitioned by ("day")  comment 'Orders and revenue of a day.'  with ('delta.enableChangeDataFeed' = 'true', 'delta.constraints.paid' = 'revenue >= 0')
as (
select day, revenue
from (
select day, sum(total)::double as revenue
from "spark_catalog"."shop"."priced"
group by day
) as model_subq
)
;;
describe "spark_catalog"."shop"."days"
;;
alter table "spark_catalog"."shop"."days" alter column
"day" comment 'The day in UTC.'
;;
select database_name, type from duckdb_databases()
;;
DESCRIBE (select * from (
select *,
md5(coalesce(cast(id as varchar ), '')
|| '|' || coalesce(cast(updated_at as varchar ), '')
) as dbt_scd_id,
updated_at as dbt_updated_at,
updated_at as dbt_valid_from,
coalesce(nullif(updated_at, updated_at), null)
as dbt_valid_to
from (
select * from "spark_catalog"."raw"."orders"
) sbq
) as __dbt_sbq
where false
limit 0
)
;;
DESCRIBE (select * from (
select now()::timestamp as dbt_snapshot_time
) as __dbt_sbq
where false
limit 0
)
;;
create or replace table "spark_catalog"."shop"."quantities"
as (
select *,
md5(coalesce(cast(id as varchar ), '')
|| '|' || coalesce(cast(updated_at as varchar ), '')
) as dbt_scd_id,
updated_at as dbt_updated_at,
updated_at as dbt_valid_from,
coalesce(nullif(updated_at, updated_at), null)
as dbt_valid_to
from (
select * from "spark_catalog"."raw"."orders"
) sbq
)
;;
select database_name, type from duckdb_databases()
;;
select
count(*) as failures,
count(*) != 0 as should_warn,
count(*) != 0 as should_error
from (
select id
from "spark_catalog"."shop"."latest"
where id is null
) dbt_internal_test
;;
select
count(*) as failures,
count(*) != 0 as should_warn,
count(*) != 0 as should_error
from (
select
id as unique_field,
count(*) as n_records
from "spark_catalog"."shop"."latest"
where id is not null
group by id
having count(*) > 1
) dbt_internal_test
;;

-- the second day
select database_name, type from duckdb_databases()
;;
SELECT version()
;;
create temporary table
"latest__dbt_tmp"
as (
select id, quantity, updated_at
from "spark_catalog"."raw"."orders"
where updated_at > (select max(updated_at) from "spark_catalog"."shop"."latest")
);
;;
describe "spark_catalog"."shop"."latest"
;;
MERGE INTO "spark_catalog"."shop"."latest" AS DBT_INTERNAL_DEST
USING "latest__dbt_tmp" AS DBT_INTERNAL_SOURCE
ON (DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id)
WHEN MATCHED
THEN
UPDATE BY NAME
WHEN NOT MATCHED
THEN
INSERT BY NAME
;;
drop table if exists "latest__dbt_tmp"
;;
describe "spark_catalog"."shop"."latest"
;;
create temporary table
"log__dbt_tmp"
as (
select id, updated_at from "spark_catalog"."raw"."orders"
where updated_at > (select max(updated_at) from "spark_catalog"."shop"."log")
);
;;
describe "spark_catalog"."shop"."log"
;;
insert into "spark_catalog"."shop"."log" ("id", "updated_at")
(
select "id", "updated_at"
from "log__dbt_tmp"
)
;;
drop table if exists "log__dbt_tmp"
;;
create or replace view "spark_catalog"."shop"."priced" as (
select o.id, o.day, o.quantity * p.price as total
from "spark_catalog"."raw"."orders" as o
join "spark_catalog"."shop"."products" as p using (product)
where o.id not in (select id from delta_scan('${folder}/elsewhere/returns'))
)
;;
create temporary table
"recent__dbt_tmp"
as (
select id, day, quantity from "spark_catalog"."raw"."orders"
where day >= date '2026-01-02'
);
;;
describe "spark_catalog"."shop"."recent"
;;
insert into "spark_catalog"."shop"."recent" ("id", "day", "quantity") replace where day >= '2026-01-02'
select "id", "day", "quantity" from "recent__dbt_tmp"
;;
drop table if exists "recent__dbt_tmp"
;;
create temporary table
"replaced__dbt_tmp"
as (
select id, day, quantity from "spark_catalog"."raw"."orders"
);
;;
describe "spark_catalog"."shop"."replaced"
;;
begin; delete from "spark_catalog"."shop"."replaced"
where (
id) in (
select (id)
from "replaced__dbt_tmp"
);
insert into "spark_catalog"."shop"."replaced" ("id", "day", "quantity")
(
select "id", "day", "quantity"
from "replaced__dbt_tmp"
); commit
;;
drop table if exists "replaced__dbt_tmp"
;;
DESCRIBE (select * from (
select day, sum(total)::double as revenue
from "spark_catalog"."shop"."priced"
group by day
) as __dbt_sbq
where false
limit 0
)
;;
DESCRIBE (select * from (
select
cast(null as date)
as day,
cast(null as double)
as revenue
) as __dbt_sbq
where false
limit 0
)
;;
create or replace table "spark_catalog"."shop"."days"
(
day date not null,
revenue double
)
partitioned by ("day")  comment 'Orders and revenue of a day.'  with ('delta.enableChangeDataFeed' = 'true', 'delta.constraints.paid' = 'revenue >= 0')
as (
select day, revenue
from (
select day, sum(total)::double as revenue
from "spark_catalog"."shop"."priced"
group by day
) as model_subq
)
;;
describe "spark_catalog"."shop"."days"
;;
alter table "spark_catalog"."shop"."days" alter column
"day" comment 'The day in UTC.'
;;
select database_name, type from duckdb_databases()
;;
describe "spark_catalog"."shop"."quantities"
;;
create temporary table
"quantities__dbt_tmp"
as (
with snapshot_query as (
select * from "spark_catalog"."raw"."orders"
),
snapshotted_data as (
select *,
id as dbt_unique_key
from "spark_catalog"."shop"."quantities"
where
dbt_valid_to is null
),
insertions_source_data as (
select *,
id as dbt_unique_key
,
updated_at as dbt_updated_at,
updated_at as dbt_valid_from,
coalesce(nullif(updated_at, updated_at), null)
as dbt_valid_to
,
md5(coalesce(cast(id as varchar ), '')
|| '|' || coalesce(cast(updated_at as varchar ), '')
) as dbt_scd_id
from snapshot_query
),
updates_source_data as (
select *,
id as dbt_unique_key
,
updated_at as dbt_updated_at,
updated_at as dbt_valid_from,
updated_at as dbt_valid_to
from snapshot_query
),
insertions as (
select
'insert' as dbt_change_type,
source_data.*
from insertions_source_data as source_data
left outer join snapshotted_data
on
snapshotted_data.dbt_unique_key = source_data.dbt_unique_key
where
snapshotted_data.dbt_unique_key is null
or (
snapshotted_data.dbt_unique_key is not null
and (
(snapshotted_data.dbt_valid_from < source_data.updated_at)
)
)
),
updates as (
select
'update' as dbt_change_type,
source_data.*,
snapshotted_data.dbt_scd_id
from updates_source_data as source_data
join snapshotted_data
on
snapshotted_data.dbt_unique_key = source_data.dbt_unique_key
where (
(snapshotted_data.dbt_valid_from < source_data.updated_at)
)
)
select * from insertions
union all
select * from updates
);
;;
describe "quantities__dbt_tmp"
;;
describe "spark_catalog"."shop"."quantities"
;;
describe "quantities__dbt_tmp"
;;
DESCRIBE (select * from (
with snapshot_query as (
select * from "spark_catalog"."raw"."orders"
),
snapshotted_data as (
select *,
id as dbt_unique_key
from "spark_catalog"."shop"."quantities"
where
dbt_valid_to is null
),
insertions_source_data as (
select *,
id as dbt_unique_key
,
updated_at as dbt_updated_at,
updated_at as dbt_valid_from,
coalesce(nullif(updated_at, updated_at), null)
as dbt_valid_to
,
md5(coalesce(cast(id as varchar ), '')
|| '|' || coalesce(cast(updated_at as varchar ), '')
) as dbt_scd_id
from snapshot_query
),
updates_source_data as (
select *,
id as dbt_unique_key
,
updated_at as dbt_updated_at,
updated_at as dbt_valid_from,
updated_at as dbt_valid_to
from snapshot_query
),
insertions as (
select
'insert' as dbt_change_type,
source_data.*
from insertions_source_data as source_data
left outer join snapshotted_data
on
snapshotted_data.dbt_unique_key = source_data.dbt_unique_key
where
snapshotted_data.dbt_unique_key is null
or (
snapshotted_data.dbt_unique_key is not null
and (
(snapshotted_data.dbt_valid_from < source_data.updated_at)
)
)
),
updates as (
select
'update' as dbt_change_type,
source_data.*,
snapshotted_data.dbt_scd_id
from updates_source_data as source_data
join snapshotted_data
on
snapshotted_data.dbt_unique_key = source_data.dbt_unique_key
where (
(snapshotted_data.dbt_valid_from < source_data.updated_at)
)
)
select * from insertions
union all
select * from updates
) as __dbt_sbq
where false
limit 0
)
;;
DESCRIBE (select * from (
select now()::timestamp as dbt_snapshot_time
) as __dbt_sbq
where false
limit 0
)
;;
merge into "spark_catalog"."shop"."quantities" as DBT_INTERNAL_DEST
using "quantities__dbt_tmp" as DBT_INTERNAL_SOURCE
on DBT_INTERNAL_SOURCE.dbt_scd_id = DBT_INTERNAL_DEST.dbt_scd_id
when matched
and (DBT_INTERNAL_DEST.dbt_valid_to is null)
and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')
then update set dbt_valid_to = DBT_INTERNAL_SOURCE.dbt_valid_to
when not matched and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'
then insert ("id", "product", "quantity", "day", "updated_at", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_scd_id")
values (DBT_INTERNAL_SOURCE."id", DBT_INTERNAL_SOURCE."product", DBT_INTERNAL_SOURCE."quantity", DBT_INTERNAL_SOURCE."day", DBT_INTERNAL_SOURCE."updated_at", DBT_INTERNAL_SOURCE."dbt_updated_at", DBT_INTERNAL_SOURCE."dbt_valid_from", DBT_INTERNAL_SOURCE."dbt_valid_to", DBT_INTERNAL_SOURCE."dbt_scd_id")
;;
drop table if exists "quantities__dbt_tmp"
;;
select database_name, type from duckdb_databases()
;;
select
count(*) as failures,
count(*) != 0 as should_warn,
count(*) != 0 as should_error
from (
select id
from "spark_catalog"."shop"."latest"
where id is null
) dbt_internal_test
;;
select
count(*) as failures,
count(*) != 0 as should_warn,
count(*) != 0 as should_error
from (
select
id as unique_field,
count(*) as n_records
from "spark_catalog"."shop"."latest"
where id is not null
group by id
having count(*) > 1
) dbt_internal_test
;;
