"""Judges the end of a migration from ZooKeeper (KIP-866; Kafka: ActivationRecordsGenerator).

The migration ends when a controller leads that was restarted with the migration switched off. After
this nothing is written to ZooKeeper, and the migration can't be undone.
"""

from __future__ import annotations

from collections.abc import Iterator

from replica.doctor.health.cluster import Cluster
from replica.doctor.preflight.answer import Preflight, Reason, done, note, preflight, unsafe
from replica.metadata.changes.releases import release_of
from replica.metadata.image.settings import (
    MIGRATION,
    NO_MIGRATION,
    POST_MIGRATION,
    PRE_MIGRATION,
    migration_name,
)
from replica.words import counted, named

_SUBJECT = "ZooKeeper migration"


def finish_migration(cluster: Cluster) -> Preflight:
    """The end of the migration: whether brokers of ZooKeeper are left, which steps remain, and
    until when the migration can be undone."""
    state = cluster.zk_migration
    since = cluster.offsets("zk_migration").get("")
    told = f"is {migration_name(state)}"
    reasons: list[Reason] = []
    needs: tuple[str, ...] = ()
    if state == NO_MIGRATION:
        reasons.append(done(_SUBJECT, "this cluster has none: there is nothing to end", since))
    elif state == PRE_MIGRATION:
        detail = f"{told}: nothing is copied yet, so that ending it would leave an empty cluster"
        reasons += [unsafe(_SUBJECT, detail, since), *_registered(cluster)]
    elif state == MIGRATION:
        reasons += [*_of_zookeeper(cluster), *_unregistered(cluster), *_to_do(cluster)]
        needs = (
            "no client and no tool reads or writes ZooKeeper any more: once a controller without "
            "the migration leads, nothing is written there, and nobody can go back",
        )
    elif state == POST_MIGRATION:
        reasons += [done(_SUBJECT, f"{told}: it has ended, and nobody can go back", since)]
        reasons += _of_zookeeper(cluster)
    else:
        reasons.append(unsafe(_SUBJECT, f"{told}, which no release of Kafka knows", since))
    return preflight("end the migration from ZooKeeper", reasons, needs)


def _of_zookeeper(cluster: Cluster) -> Iterator[Reason]:
    for broker_id in cluster.zk_brokers:
        offset = cluster.offsets("brokers")[broker_id]
        yield unsafe(
            f"broker {broker_id}",
            "still runs with ZooKeeper, and would get no change any more: restart it in KRaft mode "
            "(process.roles, no zookeeper.connect)",
            offset,
        )


def _unregistered(cluster: Cluster) -> Iterator[Reason]:
    """Reasons about brokers that hold replicas and aren't registered in KRaft."""
    held = cluster.replicas_by_broker
    for broker_id in sorted(held.keys() - cluster.values("brokers").keys()):
        replicas = counted(held[broker_id], "replica")
        yield unsafe(
            f"broker {broker_id}",
            f"holds {replicas}, and has not registered with KRaft: restart it in KRaft mode, or "
            "move its replicas away",
        )


def _registered(cluster: Cluster) -> Iterator[Reason]:
    brokers = [str(one) for one in cluster.zk_brokers]
    if brokers:
        yield note(
            named("broker", brokers),
            f"with ZooKeeper, {'has' if len(brokers) == 1 else 'have'} registered; the active "
            "controller's log names the brokers that it waits for (Still waiting for ZK brokers)",
        )


def _to_do(cluster: Cluster) -> Iterator[Reason]:
    """The remaining steps in the phase in which both stores are written."""
    ready = sorted(
        controller_id
        for controller_id, fields in cluster.values("controllers").items()
        if fields["zkMigrationReady"]
    )
    if ready:
        yield note(
            named("controller", [*map(str, ready)]),
            "run with the migration: restart each without zookeeper.connect and "
            "zookeeper.metadata.migration.enable, the active one last",
        )
    yield note(
        _SUBJECT,
        "until a controller without the migration leads, the way back to ZooKeeper is open. It "
        "loses what is not written there yet: what lies behind the offset in the znode /migration "
        f"(kraft_metadata_offset), up to offset {cluster.end_offset - 1}",
        cluster.offsets("zk_migration").get(""),
    )
    level = cluster.metadata_version
    if level is not None:
        yield note(
            "Kafka 4",
            f"may follow once the migration has ended; metadata.version is {release_of(level)}",
        )
