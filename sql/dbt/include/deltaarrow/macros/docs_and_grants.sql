{# Comments, which are written only where they change: each statement is a version of the table. #}

{% macro deltaarrow__persist_docs(relation, model, for_relation, for_columns) -%}
  {%- if not relation.is_view -%}
    {%- set present = adapter.comments(relation) -%}
    {%- if for_relation and config.persist_relation_docs() and (model.description or '') != present[none] -%}
      {% do run_query(alter_relation_comment(relation, model.description or '')) %}
    {%- endif -%}
    {%- if for_columns and config.persist_column_docs() and model.columns -%}
      {%- set names = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
      {%- set changed = {} -%}
      {%- for name, column in validate_doc_columns(relation, model.columns, names).items() -%}
        {%- if (column['description'] or '') != present.get(name, '') -%}
          {%- do changed.update({name: column}) -%}
        {%- endif -%}
      {%- endfor -%}
      {%- if changed -%}
        {% do run_query(alter_column_comment(relation, changed)) %}
      {%- endif -%}
    {%- endif -%}
  {%- endif -%}
{%- endmacro %}

{% macro deltaarrow__alter_relation_comment(relation, relation_comment) -%}
  comment on table {{ relation }} is {{ deltaarrow__literal(relation_comment) }}
{%- endmacro %}

{% macro deltaarrow__alter_column_comment(relation, column_dict) -%}
  alter table {{ relation }} alter column
  {% for name, column in column_dict.items() -%}
    {{ adapter.quote(name) }} comment {{ deltaarrow__literal(column['description'] or '') }} {{- ', ' if not loop.last }}
  {%- endfor %}
{%- endmacro %}

{% macro deltaarrow__apply_grants(relation, grant_config, should_revoke=True) -%}
  {%- if grant_config -%}
    {{ exceptions.raise_compiler_error(
      relation ~ ' cannot have grants: who may read its files decides; remove the config grants'
    ) }}
  {%- endif -%}
{%- endmacro %}
