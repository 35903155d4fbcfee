-- The key of a config is [type of resource, name of the resource, name of the config]; 2 is a topic.
select
    cluster_id,
    cast("at" as date) as day,
    key ->> '$[1]' as topic,
    count(*) as changes,
    count(*) filter (where change = 'config_removed') as removed,
    list(distinct key ->> '$[2]' order by key ->> '$[2]') as configs
from {{ source('gold', 'metadata_changes') }}
where
    entity = 'config'
    and key ->> '$[0]' = '2'
    and commitment <> 'superseded'
    and "at" is not null
group by all
