-- The newest epoch counts until the newest record of the log.
with epochs as (
    select
        history.cluster_id,
        history.leader_id as node_id,
        history.started_at,
        coalesce(history.ended_at, verdicts."at") as ended_at
    from {{ source('gold', 'leader_epoch_history') }} as history
    left join {{ source('gold', 'verdicts') }} as verdicts using (cluster_id)
    where history.leader_id is not null and history.started_at is not null
)

select
    cluster_id,
    node_id,
    count(*) as epochs,
    round(sum(epoch(ended_at) - epoch(started_at)) / 3600, 4) as hours,
    max(ended_at) as led_until
from epochs
where ended_at >= started_at
group by cluster_id, node_id
