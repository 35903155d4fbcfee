"""Every type of change: a row of gold.metadata_changes has one of these names in `change`.

`old` and `new` are JSON. For a change of one field they are the field's value (3 for a leader,
[1,2] for an ISR). For a change of a whole entity they are the object with Kafka's field names that
metadata_history has. A partition's epoch and leader epoch rise with its other changes. They are a
change of their own only if nothing else changes.
"""

from __future__ import annotations

from typing import NamedTuple


class ChangeType(NamedTuple):
    """One type of change. entity: the kind of entity that changes. value: the record's fields that
    `old` and `new` hold; one field stands there as its value, several fields as an object; ()
    stands for the whole entity."""

    name: str
    entity: str
    value: tuple[str, ...]
    meaning: str


_PARTITION_FIELDS = (
    ChangeType(
        "leader_changed", "partition", ("leader",), "The partition has another leader; -1 for none."
    ),
    ChangeType(
        "leader_epoch_changed",
        "partition",
        ("leaderEpoch",),
        "The partition has a new leader epoch with the same leader.",
    ),
    ChangeType("isr_changed", "partition", ("isr",), "The partition has other in-sync replicas."),
    ChangeType(
        "elr_changed",
        "partition",
        ("eligibleLeaderReplicas",),
        "The partition has other eligible leader replicas (KIP-966).",
    ),
    ChangeType(
        "last_known_elr_changed",
        "partition",
        ("lastKnownElr",),
        "The partition has other last known eligible leader replicas (KIP-966).",
    ),
    ChangeType(
        "replicas_changed",
        "partition",
        ("replicas",),
        "The partition is assigned to other replicas, or in another order.",
    ),
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
        "The leader's recovery state changed. 0: recovered, 1: recovering from an "
        "unclean election (KIP-704).",
    ),
    ChangeType(
        "partition_epoch_changed",
        "partition",
        ("partitionEpoch",),
        "A record changed nothing but the partition's epoch.",
    ),
)
_REASSIGNMENT = "addingReplicas", "removingReplicas"

CHANGES = (
    ChangeType("topic_created", "topic", (), "A topic was created."),
    ChangeType(
        "topic_recreated",
        "topic",
        (),
        "A topic was created with the name of a deleted one, which `old` shows.",
    ),
    ChangeType("topic_renamed", "topic", (), "A topic id has another name; Kafka never does that."),
    ChangeType("topic_deleted", "topic", (), "A topic was deleted."),
    ChangeType("partition_created", "partition", (), "A partition was created."),
    ChangeType("partition_deleted", "partition", (), "A partition was deleted with its topic."),
    *_PARTITION_FIELDS,
    ChangeType(
        "reassignment_started",
        "partition",
        _REASSIGNMENT,
        "Replicas are to be added or removed.",
    ),
    ChangeType(
        "reassignment_changed",
        "partition",
        _REASSIGNMENT,
        "Other replicas are to be added or removed.",
    ),
    ChangeType(
        "reassignment_completed",
        "partition",
        _REASSIGNMENT,
        "All replicas were added and removed as the reassignment said.",
    ),
    ChangeType(
        "reassignment_cancelled",
        "partition",
        _REASSIGNMENT,
        "The reassignment ended before all replicas were added and removed.",
    ),
    ChangeType(
        "config_set", "config", ("value",), "A dynamic config was set, or set to another value."
    ),
    ChangeType("config_removed", "config", ("value",), "A config has its default again."),
    ChangeType(
        "broker_registered",
        "broker",
        (),
        "A broker registered, or registered again with a new broker epoch.",
    ),
    ChangeType(
        "broker_fenced", "broker", ("fenced",), "A fenced broker leads nothing and is in no ISR."
    ),
    ChangeType("broker_unfenced", "broker", ("fenced",), "The broker serves clients."),
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
        "The broker is not shutting down any more. In Kafka only a new registration says so.",
    ),
    ChangeType(
        "broker_directories_changed",
        "broker",
        ("logDirs",),
        "The broker has other log directories.",
    ),
    ChangeType(
        "broker_cordoned_directories_changed",
        "broker",
        ("cordonedLogDirs",),
        "Other log directories of the broker are cordoned: Kafka places no new replicas "
        "there (KIP-1066).",
    ),
    ChangeType(
        "broker_changed", "broker", (), "Another field of the broker's registration changed."
    ),
    ChangeType("broker_unregistered", "broker", (), "A broker's registration was removed."),
    ChangeType(
        "controller_registered", "controller", (), "A controller registered, or registered again."
    ),
    ChangeType(
        "controller_unregistered",
        "controller",
        (),
        "A controller's registration was removed (Kafka 4.4 and later).",
    ),
    ChangeType(
        "feature_level_changed",
        "feature",
        ("featureLevel",),
        "A feature has its first level, or another one (KIP-584).",
    ),
    ChangeType("feature_removed", "feature", ("featureLevel",), "A feature is at level 0."),
    ChangeType(
        "metadata_version_changed",
        "feature",
        ("featureLevel",),
        "metadata.version has another level; `old` and `new` are names of releases, "
        "such as 4.1-IV1.",
    ),
    ChangeType("acl_created", "acl", (), "An access control entry was created."),
    ChangeType("acl_changed", "acl", (), "The id now stands for another access control entry."),
    ChangeType("acl_deleted", "acl", (), "An access control entry was deleted."),
    ChangeType("scram_credential_set", "scram", (), "A user got a credential, or another one."),
    ChangeType("scram_credential_removed", "scram", (), "A user's credential was removed."),
    ChangeType(
        "quota_set", "client_quota", ("value",), "A client quota was set, or set to another value."
    ),
    ChangeType("quota_removed", "client_quota", ("value",), "A client quota was removed."),
    ChangeType("delegation_token_created", "delegation_token", (), "A token was created."),
    ChangeType(
        "delegation_token_changed",
        "delegation_token",
        (),
        "A token changed: for example, it was renewed.",
    ),
    ChangeType("delegation_token_removed", "delegation_token", (), "A token was removed."),
    ChangeType(
        "producer_ids_allocated",
        "producer_ids",
        ("nextProducerId",),
        "A broker got a block of producer ids. The value is the first id behind the block.",
    ),
    ChangeType(
        "producer_ids_removed", "producer_ids", ("nextProducerId",), "There is no next producer id."
    ),
    ChangeType(
        "zk_migration_state_changed",
        "zk_migration_state",
        ("zkMigrationState",),
        "The migration from ZooKeeper has reached another state (KIP-866).",
    ),
    ChangeType(
        "voters_changed", "voters", ("voters",), "The quorum has another voter set (KIP-853)."
    ),
    ChangeType(
        "kraft_version_changed",
        "kraft_version",
        ("kRaftVersion",),
        "kraft.version has another level; from level 1 on the voters may change (KIP-853).",
    ),
)
