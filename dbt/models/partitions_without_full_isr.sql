-- A version of a partition counts on each day on which it was valid for some time.
with versions as (
    select
        history.cluster_id,
        history.key,
        history.valid_from as since,
        coalesce(history.valid_to, verdicts."at") as until
    from {{ source('gold', 'metadata_history') }} as history
    left join {{ source('gold', 'verdicts') }} as verdicts using (cluster_id)
    where
        history.entity = 'partition'
        and json_array_length(history.value, '$.isr')
        < json_array_length(history.value, '$.replicas')
),

days as (
    select
        *,
        unnest(generate_series(
            date_trunc('day', since), date_trunc('day', until), interval 1 day
        )) as day
    from versions
    where until > since
)

select
    cluster_id,
    cast(day as date) as day,
    count(distinct key) as partitions,
    round(
        sum(epoch(least(until, day + interval 1 day)) - epoch(greatest(since, day))) / 3600, 4
    ) as partition_hours
from days
group by cluster_id, day
