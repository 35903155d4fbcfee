"""Whether a planned change is safe, judged on a cluster's newest state: `kraftlake plan`.

answer         ChangeSafety, Reason and Preflight, the values that the judgements return
stopping       stopping brokers, or all brokers of a rack
rolling        an order in which all nodes can be restarted
first_steps    what to do before a stop that isn't safe now
decommissioning  the replicas that have to move before brokers leave for good
reassigning    a file for kafka-reassign-partitions; reassignment_file reads it
voters         removing and adding a voter, and the change of a static quorum to kraft.version 1
upgrading      raising metadata.version to a release's, or lowering it
downgrading    running an older release on the directories as they are
migrating      the end of a migration from ZooKeeper
majority       the majority of the voters, when some of them stop
certainty      the doubts about the state, on which every answer depends

Pure functions of replica.doctor.health's Cluster. Sources for Kafka's refusals and effects:
ReplicationControlManager, FeatureControlManager and KafkaRaftClient.
"""
