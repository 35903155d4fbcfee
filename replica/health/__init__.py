"""The health of a cluster: rules over the state that its metadata log adds up to.

    findings = judge_health(Cluster(image, ...))

cluster         Cluster, what the rules look at
quorum          controllers and voters; features: what nodes support, and what keeps a level back
brokers         fenced and unregistered brokers, and their log directories
partitions      leaders and in-sync replicas; placement: preferred leaders and racks
reassignments   what is being moved, and since when; configs: those of what isn't there
judging         all rules together
exposure        what a failure of brokers, racks or voters would take away (live_replicas)
past            since when exposures and reassignments are as they are, by the log read backward
sizes           what a cluster has most of, and what fills its log (log_content, counted_logs)
of_directories  a Cluster from what check has examined

Pure functions of values, as in replica.check; the rules themselves are values in
replica.check.catalogue.health.
"""
