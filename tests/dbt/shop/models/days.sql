{{ config(partition_by='day', tblproperties={'delta.enableChangeDataFeed': true}) }}
select day, sum(total)::double as revenue
from {{ ref('priced') }}
group by day
