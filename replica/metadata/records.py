"""The table of all metadata record types up to Kafka 4.4. Nothing else describes them.

The facts are from the message classes of Kafka 4.4.0 (org.apache.kafka.common.metadata). The tests
compare decoded bytes with what Kafka itself printed for each type and version. `make kafka-drift`
compares the table with the classes of a newer release.
"""

from __future__ import annotations

from replica.message.schema import RecordSchema, declare, record

NEWEST_KAFKA = "4.4"
"""The newest Kafka release whose metadata records are all in this table."""

FIRST_VENDOR_KEY = 500
"""Record types from this number on don't belong to a newer Kafka, which numbers its types from 0
upward. Other products use these numbers (AutoMQ has types from 501 on)."""


_END_POINTS = declare(
    "endPoints",
    "[]struct",
    declare("name", "string"),
    declare("host", "string"),
    declare("port", "uint16"),
    declare("securityProtocol", "int16"),
)
_FEATURES = declare(
    "features",
    "[]struct",
    declare("name", "string"),
    declare("minSupportedVersion", "int16"),
    declare("maxSupportedVersion", "int16"),
)

RECORDS: tuple[RecordSchema, ...] = (
    record(
        "REGISTER_BROKER_RECORD",
        declare("brokerId", "int32"),
        declare("isMigratingZkBroker", "bool", since=2),
        declare("incarnationId", "uuid"),
        declare("brokerEpoch", "int64"),
        _END_POINTS,
        _FEATURES,
        declare("rack", "string", nullable=True),
        declare("fenced", "bool", default=True),
        declare("inControlledShutdown", "bool", since=1),
        declare("logDirs", "[]uuid", since=3, tag=0),
        declare("cordonedLogDirs", "[]uuid", since=4, nullable=True, tag=1, default=None),
        api_key=0,
        newest=4,
    ),
    record(
        "UNREGISTER_BROKER_RECORD",
        declare("brokerId", "int32"),
        declare("brokerEpoch", "int64"),
        api_key=1,
    ),
    record("TOPIC_RECORD", declare("name", "string"), declare("topicId", "uuid"), api_key=2),
    record(
        "PARTITION_RECORD",
        declare("partitionId", "int32", default=-1),
        declare("topicId", "uuid"),
        declare("replicas", "[]int32"),
        declare("isr", "[]int32"),
        declare("removingReplicas", "[]int32"),
        declare("addingReplicas", "[]int32"),
        declare("leader", "int32", default=-1),
        declare("leaderRecoveryState", "int8", tag=0),
        declare("leaderEpoch", "int32", default=-1),
        declare("partitionEpoch", "int32", default=-1),
        declare("directories", "[]uuid", since=1),
        declare("eligibleLeaderReplicas", "[]int32", since=2, nullable=True, tag=1, default=None),
        declare("lastKnownElr", "[]int32", since=2, nullable=True, tag=2, default=None),
        api_key=3,
        newest=2,
    ),
    record(
        "CONFIG_RECORD",
        declare("resourceType", "int8"),
        declare("resourceName", "string"),
        declare("name", "string"),
        declare("value", "string", nullable=True),
        api_key=4,
    ),
    record(
        "PARTITION_CHANGE_RECORD",
        declare("partitionId", "int32", default=-1),
        declare("topicId", "uuid"),
        declare("isr", "[]int32", nullable=True, tag=0, default=None),
        declare("leader", "int32", tag=1, default=-2),
        declare("replicas", "[]int32", nullable=True, tag=2, default=None),
        declare("removingReplicas", "[]int32", nullable=True, tag=3, default=None),
        declare("addingReplicas", "[]int32", nullable=True, tag=4, default=None),
        declare("leaderRecoveryState", "int8", tag=5, default=-1),
        declare("directories", "[]uuid", since=1, nullable=True, tag=8, default=None),
        declare("eligibleLeaderReplicas", "[]int32", since=2, nullable=True, tag=6, default=None),
        declare("lastKnownElr", "[]int32", since=2, nullable=True, tag=7, default=None),
        api_key=5,
        newest=2,
    ),
    record("FENCE_BROKER_RECORD", declare("id", "int32"), declare("epoch", "int64"), api_key=7),
    record(
        "UNFENCE_BROKER_RECORD",
        declare("id", "int32"),
        declare("epoch", "int64"),
        api_key=8,
    ),
    record("REMOVE_TOPIC_RECORD", declare("topicId", "uuid"), api_key=9),
    record(
        "DELEGATION_TOKEN_RECORD",
        declare("owner", "string"),
        declare("requester", "string"),
        declare("renewers", "[]string"),
        declare("issueTimestamp", "int64"),
        declare("maxTimestamp", "int64"),
        declare("expirationTimestamp", "int64"),
        declare("tokenId", "string"),
        api_key=10,
    ),
    record(
        "USER_SCRAM_CREDENTIAL_RECORD",
        declare("name", "string"),
        declare("mechanism", "int8"),
        declare("salt", "bytes"),
        declare("storedKey", "bytes"),
        declare("serverKey", "bytes"),
        declare("iterations", "int32"),
        api_key=11,
    ),
    record(
        "FEATURE_LEVEL_RECORD",
        declare("name", "string"),
        declare("featureLevel", "int16"),
        api_key=12,
    ),
    record(
        "CLIENT_QUOTA_RECORD",
        declare(
            "entity",
            "[]struct",
            declare("entityType", "string"),
            declare("entityName", "string", nullable=True),
        ),
        declare("key", "string"),
        declare("value", "float64"),
        declare("remove", "bool"),
        api_key=14,
    ),
    record(
        "PRODUCER_IDS_RECORD",
        declare("brokerId", "int32"),
        declare("brokerEpoch", "int64", default=-1),
        declare("nextProducerId", "int64"),
        api_key=15,
    ),
    record(
        "BROKER_REGISTRATION_CHANGE_RECORD",
        declare("brokerId", "int32"),
        declare("brokerEpoch", "int64"),
        declare("fenced", "int8", tag=0),
        declare("inControlledShutdown", "int8", since=1, tag=1),
        declare("logDirs", "[]uuid", since=2, tag=2),
        declare("cordonedLogDirs", "[]uuid", since=3, nullable=True, tag=3, default=None),
        api_key=17,
        newest=3,
    ),
    record(
        "ACCESS_CONTROL_ENTRY_RECORD",
        declare("id", "uuid"),
        declare("resourceType", "int8"),
        declare("resourceName", "string"),
        declare("patternType", "int8"),
        declare("principal", "string"),
        declare("host", "string"),
        declare("operation", "int8"),
        declare("permissionType", "int8"),
        api_key=18,
    ),
    record("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", declare("id", "uuid"), api_key=19),
    record("NO_OP_RECORD", api_key=20),
    record("ZK_MIGRATION_STATE_RECORD", declare("zkMigrationState", "int8"), api_key=21),
    record(
        "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
        declare("name", "string"),
        declare("mechanism", "int8"),
        api_key=22,
    ),
    record(
        "BEGIN_TRANSACTION_RECORD",
        declare("name", "string", nullable=True, tag=0, default=None),
        api_key=23,
    ),
    record("END_TRANSACTION_RECORD", api_key=24),
    record(
        "ABORT_TRANSACTION_RECORD",
        declare("reason", "string", nullable=True, tag=0, default=None),
        api_key=25,
    ),
    record("REMOVE_DELEGATION_TOKEN_RECORD", declare("tokenId", "string"), api_key=26),
    record(
        "REGISTER_CONTROLLER_RECORD",
        declare("controllerId", "int32"),
        declare("incarnationId", "uuid"),
        declare("zkMigrationReady", "bool"),
        _END_POINTS,
        _FEATURES,
        api_key=27,
    ),
    record("CLEAR_ELR_RECORD", declare("topicName", "string"), api_key=28),
    record("UNREGISTER_CONTROLLER_RECORD", declare("controllerId", "int32"), api_key=29),
)

RECORDS_BY_KEY: dict[int, RecordSchema] = {schema.api_key: schema for schema in RECORDS}
RECORDS_BY_NAME: dict[str, RecordSchema] = {schema.name: schema for schema in RECORDS}
