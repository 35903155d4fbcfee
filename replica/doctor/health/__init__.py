"""The health of a cluster: rules about the state that its metadata log describes.

    findings = judge_health(Cluster(image, ...))

cluster              Cluster, the state that the rules judge
judging              all rules together, with the rules about configs of missing topics and brokers
                     and about the migration from ZooKeeper
quorum               controllers and voters
features             supported feature levels, and nodes that block a level
unsupported          nodes that don't support the level of a feature
brokers              fenced and unregistered brokers, and their log directories
partitions           leaders and in-sync replicas
placement            preferred leaders and racks
reassignments        running reassignments
shortened            topics whose retention was shortened while a broker was down
new_directories      replicas that lead, or may lead, from a new log directory
startable            which releases of Kafka can start on the newest state
absent_directories   brokers that are down, and whose start needs directories that were not given
copy_first           the brokers whose log directories have to be copied before their start
emptied              brokers on new disks that must not run while other brokers start
returning            in which order brokers bring partitions without leader back
absent               why brokers aren't live
partition_folders    the folders of partitions in brokers' log directories
set_aside            folders of partitions that end with -delete or -stray
hosted               partition replicas on nodes that are also voters
min_isrs             min.insync.replicas, by the configs of one moment
live_replicas        the live replicas of a partition, and which of them may lead
exposure             the harm of a failure of brokers, racks or voters
rewound              the partitions at earlier moments, by undoing change after change
past                 how long exposures and reassignments have lasted
leaderless           when partitions had no leader
refusing             since when partitions refuse writes
refusals             which brokers were missing while partitions refused writes
signs_of_life        when a fenced broker was last alive, by the log
sizes                the numbers of entities and records
log_content          the records of a log by type; large_log_content: the same for large files
of_directories       a Cluster and a LogContent from what check has examined

All are pure functions of values, as in replica.doctor.check. The rules are values in
replica.doctor.check.catalogue.health.
"""
