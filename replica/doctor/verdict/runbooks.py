"""The runbook for each finding: pages of docs/how-to/runbooks, by their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from replica.doctor.check.catalogue import (
    files,
    groups,
    health,
    log,
    partition_folders,
    snapshots,
    startup,
)
from replica.doctor.check.rule import Rule

RUNBOOKS: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {
        "two-quorums": (groups.VOTER_SETS_DIFFER, groups.INITIAL_VOTERS_DIFFER),
        "disk-that-forgot": (
            groups.COMMITTED_DATA_AT_RISK, groups.REPLICA_WENT_BACK, groups.STALE_VOTER,
            groups.LEADER_LACKS_OWN_RECORDS, groups.VOTER_DISK_EMPTY, groups.TWO_LEADERS,
            files.QUORUM_STATE_MISSING, files.QUORUM_STATE_BEHIND, *log.DAMAGED,
        ),
        "majority-lost": (health.MAJORITY_STOPPED, health.LEADER_GAVE_UP),
        "endless-elections": (
            log.ENDLESS_ELECTIONS, files.ELECTIONS_WITHOUT_WINNER, log.BATCH_TOO_LARGE,
        ),
        "two-histories": (groups.CONFLICT, groups.LOG_DIVERGENCE),
        "snapshot-hole": (snapshots.SNAPSHOT_LOG_HOLE, snapshots.LOG_START_WITHOUT_SNAPSHOT),
        "power-cut": (
            snapshots.SNAPSHOT_EMPTY, files.STATE_FILE_BROKEN, files.EPOCH_CHECKPOINT_MISSING,
            files.EPOCH_CHECKPOINT_MISMATCH, files.EPOCH_CHECKPOINT_ORDER, log.ZERO_HOLE,
            log.TORN_SEGMENT,
        ),
        "votes-that-do-not-count": (files.VOTER_DIRECTORY_ID, files.QUORUM_STATE_VOTE),
        "unreplayable-record": (
            log.UNAPPLIABLE_RECORD, log.UNDECODABLE_RECORD, log.VENDOR_RECORD_TYPE,
        ),
        "brokers-down": (
            health.WITHOUT_LEADER, health.NO_ELIGIBLE_LEADER, health.FENCED_BROKER,
            health.UNREGISTERED_BROKER, health.LOST_DIRECTORY,
        ),
        "stray-partitions": (
            partition_folders.STRAY_PARTITION, partition_folders.FOLDER_WITHOUT_TOPIC_ID,
            partition_folders.PARTITION_TWICE, partition_folders.FOREIGN_FOLDER,
            partition_folders.REPLICA_WITHOUT_FOLDER,
        ),
        "downgrade": (files.UNREADABLE_BY_RELEASE,),
        "never-came-up": (
            startup.FORMATTED_WITHOUT_VOTERS, startup.BOOTSTRAP_RECORDS_DIFFER,
            startup.NO_VOTERS_ANYWHERE, groups.FORMATTED_FOR_ANOTHER_CLUSTER,
            groups.CLUSTER_IDS_DIFFER,
        ),
        "will-it-start": (
            startup.SETTING_NOT_UNDERSTOOD, startup.PROCESS_ROLES_WRONG, startup.NODE_ID_WRONG,
            startup.QUORUM_NOT_NAMED, startup.ROLE_AGAINST_VOTERS,
            startup.LISTENERS_NOT_UNDERSTOOD, startup.CONTROLLER_LISTENERS_WRONG,
            startup.BROKER_LISTENERS_WRONG, startup.KEY_STORE_UNUSABLE, startup.SASL_LOGIN_WRONG,
            startup.SASL_MECHANISM_NOT_ENABLED, startup.CONTROLLER_SECURITY_DIFFERS,
            startup.LOG_DIRECTORY_NOT_FORMATTED,
            startup.LOG_DIRECTORY_UNUSABLE, startup.LOG_DIRECTORY_OFFLINE, startup.NODE_ID_DIFFERS,
            startup.DIRECTORY_ID_WRONG, startup.METADATA_LOG_ELSEWHERE,
            startup.RELEASE_CANNOT_READ_LOG, startup.STATIC_VOTERS_NOT_NAMED,
            startup.CONFIGURED_VOTERS_DIFFER, startup.VOTER_ADDRESS_DIFFERS,
            startup.NO_CONTROLLER_AT_ADDRESS, startup.SETTING_UNKNOWN, startup.SETTING_TWICE,
            startup.LINE_WITHOUT_KEY, groups.LOG_DIRECTORIES_DIFFER, groups.METADATA_LOG_TWICE,
            groups.VOTER_WITHOUT_OWN_DISK, groups.DISK_OF_ANOTHER_CLUSTER,
        ),
        "migrate-from-zookeeper": (
            health.MIGRATION_WAITS, health.MIGRATION_RUNS, health.ZK_BROKER_LEFT,
        ),
        "is-the-cluster-well": (
            groups.VOTER_BEHIND, health.GHOST_BLOCKS_FEATURE, health.MIN_ISR_UNKNOWN,
        ),
        "restart-all-nodes": (health.NO_SPARE_REPLICA,),
        "reassign-partitions": (health.REPLICA_COUNTS_DIFFER,),
    }
)  # fmt: skip
"""The rules of each runbook. The most important runbook comes first: for example, two quorums are
the cause, and lost records only the effect."""


def runbook_of(rules: Collection[str]) -> str | None:
    """The most important runbook for findings of these rules, by their ids; None if no runbook has
    these rules."""
    return next(
        (name for name, about in RUNBOOKS.items() if any(one.id in rules for one in about)), None
    )
