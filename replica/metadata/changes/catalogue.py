"""Every type of change: a row of gold.metadata_changes has one of these names in `change`.

`old` and `new` are JSON. For a change of one field they are the field's value (3 for a leader,
[1,2] for an ISR). For a change of a whole entity they are the object with Kafka's field names that
metadata_history has. A partition's epoch and leader epoch rise with its other changes. They count
as a change only if nothing else changes.
"""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """One change of one entity, by a record of the log."""

    change: str
    """The name of the type of change."""
    old: str | None
    """The value before the change as JSON; None if the entity did not exist."""
    new: str | None
    """The value after the change as JSON; None if the entity no longer exists."""


class ChangeType(NamedTuple):
    """One type of change."""

    name: str
    entity: str
    """The kind of entity that changes."""
    value: tuple[str, ...]
    """The record's fields in `old` and `new`: the value of a single field, or an object of several
    fields; () for the whole entity."""
    meaning: str


_REASSIGNMENT = "addingReplicas", "removingReplicas"
_OF_ENTITY: dict[str, tuple[tuple[str, tuple[str, ...], str], ...]] = {
    "topic": (
        ("topic_created", (), "A topic was created."),
        (
            "topic_recreated",
            (),
            "A topic was created with the name of a deleted one, which `old` shows.",
        ),
        ("topic_renamed", (), "A topic id has another name; Kafka never does that."),
        ("topic_deleted", (), "A topic was deleted."),
    ),
    "partition": (
        ("partition_created", (), "A partition was created."),
        ("partition_deleted", (), "A partition was deleted with its topic."),
        ("leader_changed", ("leader",), "The partition has another leader; -1 for none."),
        (
            "leader_epoch_changed",
            ("leaderEpoch",),
            "The partition has a new leader epoch with the same leader.",
        ),
        ("isr_changed", ("isr",), "The partition has other in-sync replicas."),
        (
            "elr_changed",
            ("eligibleLeaderReplicas",),
            "The partition has other eligible leader replicas (KIP-966).",
        ),
        (
            "last_known_elr_changed",
            ("lastKnownElr",),
            "The partition has other last known eligible leader replicas (KIP-966).",
        ),
        (
            "replicas_changed",
            ("replicas",),
            "The partition is assigned to other replicas, or in another order.",
        ),
        (
            "directories_changed",
            ("directories",),
            "Replicas lie in other log directories (KIP-858).",
        ),
        (
            "leader_recovery_state_changed",
            ("leaderRecoveryState",),
            "The leader's recovery state changed. 0: recovered, 1: recovering from an "
            "unclean election (KIP-704).",
        ),
        (
            "partition_epoch_changed",
            ("partitionEpoch",),
            "A record changed nothing but the partition's epoch.",
        ),
        ("reassignment_started", _REASSIGNMENT, "Replicas are to be added or removed."),
        ("reassignment_changed", _REASSIGNMENT, "Other replicas are to be added or removed."),
        (
            "reassignment_completed",
            _REASSIGNMENT,
            "All replicas were added and removed as the reassignment said.",
        ),
        (
            "reassignment_cancelled",
            _REASSIGNMENT,
            "The reassignment ended before all replicas were added and removed.",
        ),
    ),
    "config": (
        ("config_set", ("value",), "A dynamic config was set, or set to another value."),
        ("config_removed", ("value",), "A config has its default again."),
    ),
    "broker": (
        (
            "broker_registered",
            (),
            "A broker registered, or registered again with a new broker epoch.",
        ),
        ("broker_fenced", ("fenced",), "A fenced broker leads nothing and is in no ISR."),
        ("broker_unfenced", ("fenced",), "The broker serves clients."),
        ("broker_shutdown_started", ("inControlledShutdown",), "A controlled shutdown began."),
        (
            "broker_shutdown_ended",
            ("inControlledShutdown",),
            "The broker is not shutting down any more. In Kafka only a new registration says so.",
        ),
        ("broker_directories_changed", ("logDirs",), "The broker has other log directories."),
        (
            "broker_cordoned_directories_changed",
            ("cordonedLogDirs",),
            "Other log directories of the broker are cordoned: Kafka places no new replicas "
            "there (KIP-1066).",
        ),
        ("broker_changed", (), "Another field of the broker's registration changed."),
        ("broker_unregistered", (), "A broker's registration was removed."),
    ),
    "controller": (
        ("controller_registered", (), "A controller registered, or registered again."),
        (
            "controller_unregistered",
            (),
            "A controller's registration was removed (Kafka 4.4 and later).",
        ),
    ),
    "feature": (
        (
            "feature_level_changed",
            ("featureLevel",),
            "A feature has its first level, or another one (KIP-584).",
        ),
        ("feature_removed", ("featureLevel",), "A feature is at level 0."),
        (
            "metadata_version_changed",
            ("featureLevel",),
            "metadata.version has another level; `old` and `new` are names of releases, "
            "such as 4.1-IV1.",
        ),
    ),
    "acl": (
        ("acl_created", (), "An access control entry was created."),
        ("acl_changed", (), "The id now stands for another access control entry."),
        ("acl_deleted", (), "An access control entry was deleted."),
    ),
    "scram": (
        ("scram_credential_set", (), "A user got a credential, or another one."),
        ("scram_credential_removed", (), "A user's credential was removed."),
    ),
    "client_quota": (
        ("quota_set", ("value",), "A client quota was set, or set to another value."),
        ("quota_removed", ("value",), "A client quota was removed."),
    ),
    "delegation_token": (
        ("delegation_token_created", (), "A token was created."),
        ("delegation_token_changed", (), "A token changed: for example, it was renewed."),
        ("delegation_token_removed", (), "A token was removed."),
    ),
    "producer_ids": (
        (
            "producer_ids_allocated",
            ("nextProducerId",),
            "A broker got a block of producer ids. The value is the first id behind the block.",
        ),
        ("producer_ids_removed", ("nextProducerId",), "There is no next producer id."),
    ),
    "zk_migration_state": (
        (
            "zk_migration_state_changed",
            ("zkMigrationState",),
            "The migration from ZooKeeper has reached another state (KIP-866). 0: none, 1: "
            "migration, in which both stores are written, 2: pre-migration, 3: post-migration.",
        ),
    ),
    "voters": (("voters_changed", ("voters",), "The quorum has another voter set (KIP-853)."),),
    "kraft_version": (
        (
            "kraft_version_changed",
            ("kRaftVersion",),
            "kraft.version has another level; from level 1 on the voters may change (KIP-853).",
        ),
    ),
}
"""Kind of entity -> its types of change: name, value, meaning."""

CHANGES = tuple(
    ChangeType(name, entity, value, meaning)
    for entity, types in _OF_ENTITY.items()
    for name, value, meaning in types
)
