{{ config(materialized='incremental', incremental_strategy='replace_where', replace_where="day >= '2026-01-02'") }}
select id, day, quantity from {{ source('raw', 'orders') }}
{% if is_incremental() %} where day >= date '2026-01-02' {% endif %}
