{% materialization table, adapter='deltaarrow', supported_languages=['sql', 'python'] %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% do deltaarrow__drop_unless(load_cached_relation(this), 'table') %}
  {% call statement('main', language=model['language']) -%}
    {{ create_table_as(False, target_relation, compiled_code, model['language']) }}
  {%- endcall %}

  {% do apply_grants(target_relation, config.get('grants')) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
