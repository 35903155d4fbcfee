"""Every type of change: a row of gold.metadata_changes has one of these names in `change`.

`old` and `new` are JSON: of one field its value (a leader is 3, an ISR [1,2]), of a whole entity
its object with Kafka's field names, the one that metadata_history has. Partition and leader epochs
count a partition's changes and are none of their own, unless only they change.
"""

from __future__ import annotations

from typing import NamedTuple


class ChangeType(NamedTuple):
    """entity: the kind of entity that changes. value: the record's fields that `old` and `new`
    hold: one field as its value, several as an object, () for the whole entity."""

    name: str
    entity: str
    value: tuple[str, ...]
    meaning: str


_PARTITION_FIELDS = (
    ChangeType("leader_changed", "partition", ("leader",), "Another leader, or -1: none."),
    ChangeType(
        "leader_epoch_changed",
        "partition",
        ("leaderEpoch",),
        "A new leader epoch under the same leader.",
    ),
    ChangeType("isr_changed", "partition", ("isr",), "Other in-sync replicas."),
    ChangeType(
        "elr_changed",
        "partition",
        ("eligibleLeaderReplicas",),
        "Other eligible leader replicas (KIP-966).",
    ),
    ChangeType(
        "last_known_elr_changed",
        "partition",
        ("lastKnownElr",),
        "Other replicas that were the last to be eligible.",
    ),
    ChangeType("replicas_changed", "partition", ("replicas",), "Another assignment."),
    ChangeType(
        "directories_changed",
        "partition",
        ("directories",),
        "Replicas lie in other log directories (KIP-858).",
    ),
    ChangeType(
        "leader_recovery_state_changed",
        "partition",
        ("leaderRecoveryState",),
        "0: recovered, 1: recovering from an unclean election (KIP-704).",
    ),
    ChangeType(
        "partition_epoch_changed",
        "partition",
        ("partitionEpoch",),
        "A record that changed nothing but the epoch.",
    ),
)
_REASSIGNMENT = "addingReplicas", "removingReplicas"

CHANGES = (
    ChangeType("topic_created", "topic", (), "A topic is there."),
    ChangeType(
        "topic_recreated",
        "topic",
        (),
        "A topic of a name that a deleted one had; `old` is that one, under another id.",
    ),
    ChangeType("topic_renamed", "topic", (), "An id under another name; Kafka never does that."),
    ChangeType("topic_deleted", "topic", (), "A topic is gone."),
    ChangeType("partition_created", "partition", (), "A partition is there."),
    ChangeType("partition_deleted", "partition", (), "A partition is gone, with its topic."),
    *_PARTITION_FIELDS,
    ChangeType(
        "reassignment_started",
        "partition",
        _REASSIGNMENT,
        "Replicas are to be added or removed.",
    ),
    ChangeType("reassignment_changed", "partition", _REASSIGNMENT, "It goes elsewhere now."),
    ChangeType(
        "reassignment_completed",
        "partition",
        _REASSIGNMENT,
        "What was to be added is a replica, what was to be removed is none.",
    ),
    ChangeType("reassignment_cancelled", "partition", _REASSIGNMENT, "It ended without that."),
    ChangeType("config_set", "config", ("value",), "A dynamic config has a value, or another one."),
    ChangeType("config_removed", "config", ("value",), "The default is in force again."),
    ChangeType("broker_registered", "broker", (), "A broker is there, or began a new epoch."),
    ChangeType("broker_fenced", "broker", ("fenced",), "It leads nothing and is in no ISR."),
    ChangeType("broker_unfenced", "broker", ("fenced",), "It serves."),
    ChangeType(
        "broker_shutdown_started",
        "broker",
        ("inControlledShutdown",),
        "A controlled shutdown began.",
    ),
    ChangeType(
        "broker_shutdown_ended",
        "broker",
        ("inControlledShutdown",),
        "It is no longer shutting down; Kafka has that only with a registration.",
    ),
    ChangeType("broker_directories_changed", "broker", ("logDirs",), "Other log directories."),
    ChangeType(
        "broker_cordoned_directories_changed",
        "broker",
        ("cordonedLogDirs",),
        "Other log directories are cordoned: Kafka places no new replicas there (KIP-1066).",
    ),
    ChangeType("broker_changed", "broker", (), "Anything else of a registration."),
    ChangeType("broker_unregistered", "broker", (), "A broker is gone."),
    ChangeType("controller_registered", "controller", (), "A controller is there, or anew."),
    ChangeType(
        "controller_unregistered",
        "controller",
        (),
        "A controller's registration is gone (Kafka 4.4 and later).",
    ),
    ChangeType(
        "feature_level_changed",
        "feature",
        ("featureLevel",),
        "A feature has a level, or another one (KIP-584).",
    ),
    ChangeType("feature_removed", "feature", ("featureLevel",), "A feature is at level 0."),
    ChangeType(
        "metadata_version_changed",
        "feature",
        ("featureLevel",),
        "metadata.version, by the name of its release: 4.1-IV1.",
    ),
    ChangeType("acl_created", "acl", (), "An access control entry is there."),
    ChangeType("acl_changed", "acl", (), "An id stands for another entry."),
    ChangeType("acl_deleted", "acl", (), "An access control entry is gone."),
    ChangeType("scram_credential_set", "scram", (), "A user has a credential, or another one."),
    ChangeType("scram_credential_removed", "scram", (), "It is gone."),
    ChangeType("quota_set", "client_quota", ("value",), "A client quota has a value, or another."),
    ChangeType("quota_removed", "client_quota", ("value",), "It is gone."),
    ChangeType("delegation_token_created", "delegation_token", (), "A token is there."),
    ChangeType("delegation_token_changed", "delegation_token", (), "It was renewed, for one."),
    ChangeType("delegation_token_removed", "delegation_token", (), "It is gone."),
    ChangeType(
        "producer_ids_allocated",
        "producer_ids",
        ("nextProducerId",),
        "A broker got a block of producer ids; the first id behind it.",
    ),
    ChangeType("producer_ids_removed", "producer_ids", ("nextProducerId",), "None is next."),
    ChangeType(
        "zk_migration_state_changed",
        "zk_migration_state",
        ("zkMigrationState",),
        "How far the migration from ZooKeeper is (KIP-866).",
    ),
    ChangeType("voters_changed", "voters", ("voters",), "Another voter set (KIP-853)."),
    ChangeType(
        "kraft_version_changed",
        "kraft_version",
        ("kRaftVersion",),
        "1: voters may change (KIP-853).",
    ),
)
