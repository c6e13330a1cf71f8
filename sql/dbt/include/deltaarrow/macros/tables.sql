{# Statements that make tables and views. Each is one version of a Delta table, and readers see the old one until then. #}

{% macro deltaarrow__create_table_as(temporary, relation, compiled_code, language='sql', partitioned_by=none, sorted_by=none) -%}
  {%- if temporary and language == 'sql' -%}
    {{ duckdb__create_table_as(true, relation, compiled_code) }}
  {%- elif language == 'python' -%}
    {{ deltaarrow__python_table(relation, compiled_code, none if temporary else deltaarrow__table_clauses()) }}
  {%- else -%}
    {%- do deltaarrow__run_header() %}
    create or replace table {{ relation }}
    {%- if config.get('contract').enforced %}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {{ get_table_columns_and_constraints() }}
    {%- set compiled_code = get_select_subquery(compiled_code) -%}
    {%- endif %}
    {{ deltaarrow__table_clauses() }}
    as (
      {{ compiled_code }}
    )
  {%- endif -%}
{%- endmacro %}

{# A header is a statement of its own, because DuckDB cannot split a text with clauses that it does not have. #}
{% macro deltaarrow__run_header() -%}
  {%- if config.get('sql_header') -%}
    {% do run_query(config.get('sql_header')) %}
  {%- endif -%}
{%- endmacro %}

{% macro deltaarrow__table_clauses() -%}
  {%- set partition_by = normalize_string_or_list(config.get('partition_by'), 'partition_by') -%}
  {%- set cluster_by = normalize_string_or_list(config.get('cluster_by'), 'cluster_by') -%}
  {%- set properties = dict(config.get('tblproperties') or {}, **adapter.check_properties(model)) -%}
  {%- if partition_by %} partitioned by ({{ get_quoted_csv(partition_by) }}) {% endif -%}
  {%- if cluster_by %} cluster by ({{ get_quoted_csv(cluster_by) }}) {% endif -%}
  {%- if config.persist_relation_docs() and model.description %} comment {{ deltaarrow__literal(model.description) }} {% endif -%}
  {%- if properties %} with (
    {%- for name, value in properties.items() -%}
      {{ deltaarrow__literal(name) }} = {{ deltaarrow__literal(value) }} {%- if not loop.last %}, {% endif -%}
    {%- endfor -%}
  ) {% endif -%}
{%- endmacro %}

{% macro deltaarrow__literal(value) -%}
  {%- set text = (value | string | lower) if value is boolean else (value | string) -%}
  '{{ adapter.escape_sql_string(text) }}'
{%- endmacro %}

{% macro deltaarrow__python_table(relation, compiled_code, clauses) -%}
{{ compiled_code }}

def materialize(df, con):
    name = '__dbt_python_model_df_{{ relation.identifier }}'
    con.register(name, df)
    con.execute("""create or replace table {{ relation }} {{ clauses or '' }} as select * from """ + name)
    con.unregister(name)
{% endmacro %}

{% macro deltaarrow__create_view_as(relation, sql) -%}
  {%- if config.get('contract').enforced %}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  {%- do deltaarrow__run_header() %}
  create or replace view {{ relation }} as (
    {{ sql }}
  )
{%- endmacro %}

{% macro deltaarrow__drop_relation(relation) -%}
  {% call statement('drop_relation', auto_begin=False) -%}
    drop {{ relation.type }} if exists {{ relation }}
  {%- endcall %}
{% endmacro %}

{# A name is that of a table or of a view: what is of the other kind goes first. #}
{% macro deltaarrow__drop_unless(relation, type) -%}
  {%- if relation is not none and relation.type != type -%}
    {% do adapter.drop_relation(relation) %}
  {%- endif -%}
{%- endmacro %}
