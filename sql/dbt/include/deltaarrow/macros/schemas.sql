{# Schemas: the name decides whether one is a namespace of the catalog or of another database. #}

{% macro deltaarrow__create_schema(relation) -%}
  {% call statement('create_schema') -%}
    create schema if not exists {{ relation.without_identifier() }}
  {%- endcall %}
{%- endmacro %}

{% macro deltaarrow__drop_schema(relation) -%}
  {% call statement('drop_schema') -%}
    drop schema if exists {{ relation.without_identifier() }} cascade
  {%- endcall %}
{%- endmacro %}
