{{ config(materialized='incremental', unique_key='id', incremental_strategy='delete+insert') }}
select id, day, quantity from {{ source('raw', 'orders') }}
