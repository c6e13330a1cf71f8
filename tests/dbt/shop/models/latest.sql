{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', cluster_by='id') }}
select id, quantity, updated_at
from {{ source('raw', 'orders') }}
{% if is_incremental() %} where updated_at > (select max(updated_at) from {{ this }}) {% endif %}
