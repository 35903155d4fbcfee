"""The health of a cluster: rules over the state that its metadata log adds up to.

    findings = judge_health(Cluster(image, ...))

cluster         Cluster, the state that the rules look at
quorum          controllers and voters; features: supported levels, and nodes that block a level
brokers         fenced and unregistered brokers, and their log directories
partitions      leaders and in-sync replicas; placement: preferred leaders and racks
reassignments   running reassignments
judging         all rules together, with those about configs of what doesn't exist and the
                migration from ZooKeeper
partition_folders  the folders of partitions in brokers' log directories
hosted          partition replicas on nodes that are voters, too
exposure        what a failure of brokers, racks or voters would take away
past            how long exposures and reassignments have lasted, by reading the log backwards
leaderless      when partitions had no leader, found by reading backwards too
signs_of_life   when a broker that is fenced was last alive, by what the log tells
sizes           how many entities and records there are; log_content: the records by type, for
                large files large_log_content
of_directories  a Cluster and a LogContent from what check has examined

All are pure functions of values, as in replica.doctor.check. The rules are values in
replica.doctor.check.catalogue.health.
"""
