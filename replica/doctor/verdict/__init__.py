"""The verdict on a cluster, which check, what-happened, the report and recover share.

verdict           Verdict with its levels, facts and gaps, and the decision
evidence          the evidence for a verdict, which directories and lakes give
evidence_of_directories   the evidence of directories that were checked together
facts             turns the evidence into facts
outage            the facts that users notice
start_of_brokers  the step that brings leaders back
start_of_voters   the voters whose start gives a quorum a majority again
unsupported       texts about releases of Kafka that can start, and nodes with one that cannot
without_winner    the facts about a quorum in which nobody wins an election
losses            the facts about records that logs lose
old_disks         the texts about disks that lack what their voters had
margin            what such disks mean for the quorum's majority
lost_directories  the texts about log directories that may hold the only copy of records
refused_writes    texts about refused writes that are over
two_histories     what to copy before any start where logs conflict
runbooks          the runbook for a fact
"""
