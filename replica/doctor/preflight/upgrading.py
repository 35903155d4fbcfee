"""Judges a change to a higher or a lower metadata.version (KIP-584, KIP-778; Kafka:
FeatureControlManager)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.features import RegisteredNode, registered_nodes
from replica.doctor.preflight.answer import (
    Preflight,
    Reason,
    done,
    note,
    preflight,
    refused,
    unknown,
    unsafe,
)
from replica.doctor.preflight.first_steps import before_unregistering
from replica.metadata.changes.readers import reader_of
from replica.metadata.changes.releases import NEWEST_LEVELS, release_of
from replica.metadata.changes.unread import why_kept
from replica.metadata.image.settings import METADATA_VERSION, migration_name


def upgrade(cluster: Cluster, release: str) -> Preflight:
    """The change to the newest metadata.version of a Kafka release, by kafka-features upgrade.
    release: a key of NEWEST_LEVELS.

    Every registered broker and controller must support the level, whether it runs or not.
    """
    wanted, now = NEWEST_LEVELS[release], cluster.metadata_version
    action = f"raise {METADATA_VERSION} to {release_of(wanted)}"
    if now is not None and now > wanted:
        at = cluster.offsets("features")[METADATA_VERSION]
        kept = why_kept(now, wanted)
        told = f"is at {release_of(now)}, which is higher: Kafka refuses the upgrade. "
        told += (
            f"`plan --downgrade {release}` judges the way down"
            if kept is None
            else f"It refuses the downgrade, too: {kept}"
        )
        return preflight(action, [refused(METADATA_VERSION, told, at)])
    return _change(cluster, action, wanted)


def downgrade(cluster: Cluster, release: str) -> Preflight:
    """The change to the newest metadata.version of an older Kafka release, by kafka-features
    downgrade. release: a key of NEWEST_LEVELS.

    Kafka refuses it if a level in between changed the metadata, even as an unsafe downgrade (up to
    4.4: "Unsafe metadata downgrade is not supported"). Every registered node must support the
    level, as for an upgrade.
    """
    wanted, now = NEWEST_LEVELS[release], cluster.metadata_version
    action = f"lower {METADATA_VERSION} to {release_of(wanted)}"
    if now is not None:
        at = cluster.offsets("features")[METADATA_VERSION]
        kept = why_kept(now, wanted)
        if now < wanted:
            told = f"is at {release_of(now)}, which is lower: Kafka refuses the downgrade"
            return preflight(action, [refused(METADATA_VERSION, told, at)])
        if kept is not None:
            told = f"is at {release_of(now)}: Kafka refuses it, also with --unsafe: {kept}"
            return preflight(action, [refused(METADATA_VERSION, told, at)])
    judged = _change(cluster, action, wanted)
    return preflight(action, [*judged.reasons, *_to_lower_too(cluster, release)])


def _to_lower_too(cluster: Cluster, release: str) -> Iterator[Reason]:
    """Reasons about other features at levels that the release doesn't support. Kafka doesn't check
    them when it lowers metadata.version."""
    reader, offsets = reader_of(release), cluster.offsets("features")
    for feature, level in sorted(cluster.values("features").items()):
        newest = reader.features.get(feature, 0)
        if feature != METADATA_VERSION and level > newest:
            told = f"is at {level}; lower it to {newest} before the nodes run Kafka {release}"
            yield note(feature, told, offsets[feature])


def _change(cluster: Cluster, action: str, wanted: int) -> Preflight:
    """A change to a level, judged by the level in force and the registered nodes."""
    now = cluster.metadata_version
    if now is None:
        return preflight(action, [unknown(METADATA_VERSION, "the state has none")])
    at = cluster.offsets("features")[METADATA_VERSION]
    if now == wanted:
        return preflight(action, [done(METADATA_VERSION, "is at that level already", at)])
    if cluster.is_migrating:
        since = cluster.offsets("zk_migration").get("")
        told = (
            f"is {migration_name(cluster.zk_migration)}: Kafka refuses to change "
            f"{METADATA_VERSION} until the migration has ended"
        )
        return preflight(action, [unsafe("ZooKeeper migration", told, since)])
    nodes = registered_nodes(cluster)
    if not nodes:
        return preflight(action, [unknown("nodes", "the state has no registered node")])
    return preflight(action, [*_blockers(cluster, nodes, wanted)])


def _blockers(cluster: Cluster, nodes: Iterable[RegisteredNode], wanted: int) -> Iterator[Reason]:
    for node in nodes:
        low, high = _supported(node.fields)
        if low <= wanted <= high:
            continue
        told = f"supports {release_of(low)} to {release_of(high)}" if high else "supports none"
        told += node.removal
        if node.fields.get("fenced"):  # only a broker has this field
            told += f"; it is fenced: {_if_gone(cluster, int(node.name.split()[-1]))}"
        yield refused(node.name, told, node.offset)


def _if_gone(cluster: Cluster, broker: int) -> str:
    """What to do about a fenced broker that doesn't come back."""
    if cluster.replicas_by_broker.get(broker):
        gone = before_unregistering(broker)
        return f"start it with a newer release; if it is gone for good, {gone}"
    return "unregister it (kafka-cluster.sh unregister) if it is gone"


def _supported(fields: Mapping[str, Any]) -> tuple[int, int]:
    for one in fields["features"]:
        if one["name"] == METADATA_VERSION:
            return one["minSupportedVersion"], one["maxSupportedVersion"]
    return 0, 0
