"""The verdict on a cluster, which check, what-happened, the report and recover share.

`verdict` defines Verdict with its levels, facts and gaps, and decides it. `evidence` defines the
evidence for it, which directories (`evidence_of_directories`) and lakes give. `facts` turns the
evidence into facts: `start_of_brokers` makes the step that brings leaders back, `without_winner`
the facts about a quorum in which nobody wins an election, `outage` the facts that users feel,
`losses` the facts about records that logs lose, `old_disks` the texts about disks that lack what
their voters had, and `margin` adds to them what the quorum needs meanwhile.
`lost_directories` has the texts about log directories that may hold the only copy of records.
`refused_writes` tells of refused writes that are over, and `two_histories` of what no start may
touch where logs conflict.
`runbooks` names the runbook for a fact.
"""
