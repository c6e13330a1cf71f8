{{ config(materialized='view') }}
select o.id, o.day, o.quantity * p.price as total
from {{ source('raw', 'orders') }} as o
join {{ ref('products') }} as p using (product)
where o.id not in (select id from {{ source('elsewhere', 'returns') }})
