-- The hours in which nodes led are no more than those from the first epoch to the log's end.
select leadership.cluster_id
from {{ ref('leadership_hours') }} as leadership
join (
    select cluster_id, min(started_at) as first_start
    from {{ source('gold', 'leader_epoch_history') }}
    group by cluster_id
) as history using (cluster_id)
group by leadership.cluster_id, history.first_start
having sum(hours) > (epoch(max(led_until)) - epoch(first_start)) / 3600 + 0.001
