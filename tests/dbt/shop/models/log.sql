{{ config(materialized='incremental', incremental_strategy='append') }}
select id, updated_at from {{ source('raw', 'orders') }}
{% if is_incremental() %} where updated_at > (select max(updated_at) from {{ this }}) {% endif %}
