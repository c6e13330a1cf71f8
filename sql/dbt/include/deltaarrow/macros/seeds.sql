{# A seed replaces its table in one version: columns and rows come at once. #}

{% macro deltaarrow__create_csv_table(model, agate_table) -%}
  {%- set types = model['config'].get('column_types', {}) -%}
  {%- set quote_columns = model['config'].get('quote_columns', none) -%}
  {%- set columns = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- set type = types.get(name, adapter.convert_type(agate_table, loop.index0)) -%}
    {%- do columns.append('cast("' ~ name ~ '" as ' ~ type ~ ') as ' ~ adapter.quote_seed_column(name, quote_columns)) -%}
  {%- endfor -%}
  {%- set rows = adapter.show_seed(this.identifier, agate_table) -%}
  {%- set sql -%}
    create or replace table {{ this }} {{ deltaarrow__table_clauses() }} as
    select {{ columns | join(', ') }} from {{ adapter.quote(rows) }}
  {%- endset -%}
  {%- call statement('_') -%}{{ sql }}{%- endcall -%}
  {%- do adapter.hide_seed(rows) -%}
  {{ return(sql) }}
{%- endmacro %}

{% macro deltaarrow__reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
  {{ return(deltaarrow__create_csv_table(model, agate_table)) }}
{%- endmacro %}

{% macro deltaarrow__load_csv_rows(model, agate_table) -%}
  {{ return('') }}
{%- endmacro %}
