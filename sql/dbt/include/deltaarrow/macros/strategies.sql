{# Incremental strategies and snapshots: each makes one version of the table. #}

{% macro deltaarrow__get_delete_insert_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- set changes = duckdb__get_delete_insert_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {{ deltaarrow__in_one_version(changes) if unique_key else changes }}
{%- endmacro %}

{% macro deltaarrow__get_incremental_microbatch_sql(arg_dict) -%}
  {{ return(deltaarrow__in_one_version(duckdb__get_incremental_microbatch_sql(arg_dict))) }}
{%- endmacro %}

{% macro deltaarrow__in_one_version(changes) -%}
  {{ return('begin; ' ~ (changes | trim).rstrip(';') ~ '; commit') }}
{%- endmacro %}

{% macro get_incremental_replace_where_sql(arg_dict) -%}
  {%- set condition = config.get('replace_where') or (arg_dict['incremental_predicates'] or []) | join(' and ') -%}
  {%- if not condition -%}
    {{ exceptions.raise_compiler_error(
      'the strategy replace_where needs the config replace_where: which rows are replaced, as a condition in Spark SQL'
    ) }}
  {%- endif -%}
  {%- set columns = get_quoted_csv(arg_dict['dest_columns'] | map(attribute='name')) -%}
  {%- set sql -%}
    insert into {{ arg_dict['target_relation'] }} ({{ columns }}) replace where {{ condition }}
    select {{ columns }} from {{ arg_dict['temp_relation'] }}
  {%- endset -%}
  {{ return(sql) }}
{%- endmacro %}

{% macro deltaarrow__snapshot_merge_sql(target, source, insert_cols) -%}
  {%- set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set valid_to = 'DBT_INTERNAL_DEST.' ~ columns.dbt_valid_to -%}
  {%- set current = config.get('dbt_valid_to_current') -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on DBT_INTERNAL_SOURCE.{{ columns.dbt_scd_id }} = DBT_INTERNAL_DEST.{{ columns.dbt_scd_id }}
  when matched
    and ({{ valid_to }} is null {%- if current %} or {{ equals(valid_to, current | trim) }}{% endif %})
    and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')
  then update set {{ columns.dbt_valid_to }} = DBT_INTERNAL_SOURCE.{{ columns.dbt_valid_to }}
  when not matched and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'
  then insert ({{ insert_cols | join(', ') }})
  values (
    {%- for column in insert_cols -%} DBT_INTERNAL_SOURCE.{{ column }} {{- ', ' if not loop.last }} {%- endfor -%}
  )
{%- endmacro %}
