{# Columns of relations: what they are, and how they change. #}

{% macro deltaarrow__get_columns_in_relation(relation) -%}
  {%- set columns = [] -%}
  {%- for row in run_query('describe ' ~ relation) -%}
    {%- do columns.append(api.Column(row[0], row[1])) -%}
  {%- endfor -%}
  {{ return(columns) }}
{%- endmacro %}

{% macro deltaarrow__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
  {%- for column in add_columns or [] -%}
    {% do run_query('alter table ' ~ relation ~ ' add column ' ~ adapter.quote(column.name) ~ ' ' ~ column.data_type) %}
  {%- endfor -%}
  {%- for column in remove_columns or [] -%}
    {% do run_query('alter table ' ~ relation ~ ' drop column ' ~ adapter.quote(column.name)) %}
  {%- endfor -%}
{%- endmacro %}

{% macro deltaarrow__alter_column_type(relation, column_name, new_column_type) -%}
  {% do run_query('alter table ' ~ relation ~ ' alter column ' ~ adapter.quote(column_name) ~ ' type ' ~ new_column_type) %}
{%- endmacro %}
