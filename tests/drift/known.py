"""What Kafka has and kraftlake leaves out or changes by choice, and properties of feature levels
that no table of kraftlake holds. `make kafka-drift` reports every other difference."""

from __future__ import annotations

from replica.doctor.startup.known_settings import Type

UNSPOKEN = frozenset(
    {
        # of brokers' partitions, producers and transactions
        "InitProducerId",
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "EndTxn",
        "WriteTxnMarkers",
        "TxnOffsetCommit",
        "DescribeProducers",
        "DescribeTransactions",
        "ListTransactions",
        "CreateTopics",
        "DeleteTopics",
        "CreatePartitions",
        "ElectLeaders",
        "AlterReplicaLogDirs",
        "DescribeLogDirs",
        "DescribeTopicPartitions",
        "AlterPartitionReassignments",
        "ListPartitionReassignments",
        # of groups
        "OffsetCommit",
        "OffsetFetch",
        "OffsetDelete",
        "FindCoordinator",
        "JoinGroup",
        "Heartbeat",
        "LeaveGroup",
        "SyncGroup",
        "DescribeGroups",
        "ListGroups",
        "DeleteGroups",
        "ConsumerGroupHeartbeat",
        "ConsumerGroupDescribe",
        "ShareGroupHeartbeat",
        "ShareGroupDescribe",
        "ShareFetch",
        "ShareAcknowledge",
        "InitializeShareGroupState",
        "ReadShareGroupState",
        "WriteShareGroupState",
        "DeleteShareGroupState",
        "ReadShareGroupStateSummary",
        "DescribeShareGroupOffsets",
        "AlterShareGroupOffsets",
        "DeleteShareGroupOffsets",
        "StreamsGroupHeartbeat",
        "StreamsGroupDescribe",
        "StreamsGroupTopologyDescriptionUpdate",
        # of the active controller, which writes metadata records: no replica of ours is one
        "AlterPartition",
        "AllocateProducerIds",
        "Envelope",
        "AssignReplicasToDirs",
        "BrokerRegistration",
        "BrokerHeartbeat",
        "UnregisterBroker",
        "ControllerRegistration",
        "DescribeAcls",
        "CreateAcls",
        "DeleteAcls",
        "DescribeClientQuotas",
        "AlterClientQuotas",
        "DescribeUserScramCredentials",
        "AlterUserScramCredentials",
        "CreateDelegationToken",
        "RenewDelegationToken",
        "ExpireDelegationToken",
        "DescribeDelegationToken",
        "ListConfigResources",
        # of client metrics
        "GetTelemetrySubscriptions",
        "PushTelemetry",
        # of releases up to 3.9
        "LeaderAndIsr",
        "StopReplica",
        "UpdateMetadata",
        "ControlledShutdown",
        "ListClientMetricsResources",
    }
)
"""Requests that kraftlake neither serves nor sends."""

RAFT_CONFIGS = ("controller.", "metadata.", "internal.controller.", "internal.metadata.")
"""The beginnings of the names of configs of a quorum and its log."""

UNREAD = frozenset(
    {
        # of the active controller
        "controller.performance.sample.period.ms",
        "metadata.max.idle.interval.ms",
        "controller.performance.always.log.threshold.ms",
        "controller.quota.window.num",
        "controller.quota.window.size.seconds",
        # of brokers
        "controller.socket.timeout.ms",
        # of Kafka's own tests
        "internal.metadata.delete.delay.millis",
        "internal.metadata.max.batch.size.in.bytes",
        "metadata.log.segment.min.bytes",
    }
)
"""Configs of a quorum and its log that a replica of kraftlake doesn't read."""

OTHERWISE = frozenset(
    {
        # as large as metadata.log.segment.bytes, where Kafka has none
        "internal.metadata.log.segment.bytes",
        # of releases up to 4.2; a replica still accepts it
        "internal.metadata.max.fetch.size.in.bytes",
        # of KIP-630; Kafka never had them
        "metadata.snapshot.min.changed_records.ratio",
        "metadata.snapshot.min.new_records.size",
        "metadata.start.offset.lag.time.max.ms",
        # -1 where Kafka 4 has no default: both refuse to start without it
        "node.id",
        # a replica may have no listener, and has no default folder
        "listeners",
        "log.dir",
        "listener.security.protocol.map",
        # as long as the time for an answer
        "socket.connection.setup.timeout.ms",
        # bounded, because a replica shares its machine with other programs
        "max.connections",
        "queued.max.request.bytes",
        "socket.request.max.bytes",
        "max.connections.per.ip",
        # longer, so that guessing passwords takes longer
        "connection.failed.authentication.delay.ms",
    }
)
"""Configs with another default in a replica of kraftlake than in Kafka, and configs that only such
a replica has."""

FEATURES = {
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "kraft.version": 1,
    "share.version": 2,
    "streams.version": 1,
    "transaction.version": 2,
}
"""The newest level of each feature except metadata.version. All features begin with 0."""

UNSTABLE = (34,)
"""Levels of metadata.version that the newest release knows, but that none of its clusters
finalizes."""

ANSWERS: dict[str, dict[int, object]] = {
    "isMetadataTransactionSupported": {13: True},
    "isDirectoryAssignmentSupported": {17: True},
    "isElrSupported": {23: True},
    "isCordonedLogDirsSupported": {30: True},
    "isCidrAclSupported": {32: True},
    "isControllerUnregistrationSupported": {33: True},
    "isLeaderEpochBumpRequiredOnIsrShrink": {7: True, 12: False},
    "fetchRequestVersion": {7: 13, 9: 14, 10: 15, 19: 16, 21: 17, 27: 18},
    "listOffsetRequestVersion": {7: 7, 9: 8, 21: 9, 25: 10, 29: 11},
    "partitionChangeRecordVersion": {7: 0, 17: 1, 23: 2},
    "registerControllerRecordVersion": {15: 0},
}
"""By method of MetadataVersion, which is a property of a level: the answer from a level on. Below
the first level it is false, or there is none. tables.py adds the methods that a table of ours
answers."""

UNLISTED_TOPIC_CONFIGS = frozenset({"internal.segment.bytes"})
"""Configs of topics without a row in replica/metadata/topic_configs.py, although Kafka has them."""

OLDER_TOPIC_DEFAULTS = {("3.9", "message.timestamp.after.max.ms"): str(2**63 - 1)}
"""Defaults that an older release had, by release and config."""

OLDER_TYPES: dict[str, tuple[Type, ...]] = {"group.share.max.size": (Type.SHORT,)}
"""Settings that had another type in an older release."""
