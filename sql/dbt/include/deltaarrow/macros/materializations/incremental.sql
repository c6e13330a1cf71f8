{% materialization incremental, adapter='deltaarrow', supported_languages=['sql', 'python'] %}
  {%- set language = model['language'] -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set strategy = adapter.get_incremental_strategy_macro(context, config.get('incremental_strategy') or 'default') -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing_relation is none or existing_relation.is_view or should_full_refresh() %}
    {% do deltaarrow__drop_unless(existing_relation, 'table') %}
    {% call statement('main', language=language) -%}
      {{ create_table_as(False, target_relation, compiled_code, language) }}
    {%- endcall %}
  {% else %}
    {%- set temp_relation = make_temp_relation(target_relation) -%}
    {% call statement('new_rows', language=language) -%}
      {{ create_table_as(True, temp_relation, compiled_code, language) }}
    {%- endcall %}
    {%- set dest_columns = process_schema_changes(on_schema_change, temp_relation, existing_relation)
                           or adapter.get_columns_in_relation(existing_relation) -%}
    {% call statement('main') -%}
      {{ strategy({
        'target_relation': target_relation,
        'temp_relation': temp_relation,
        'unique_key': config.get('unique_key'),
        'dest_columns': dest_columns,
        'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
      }) }}
    {%- endcall %}
    {% do adapter.drop_relation(temp_relation) %}
  {% endif %}

  {% do apply_grants(target_relation, config.get('grants')) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
