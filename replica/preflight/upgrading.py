"""Judges a higher metadata.version (KIP-584, KIP-778; Kafka: FeatureControlManager)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from replica.health.cluster import Cluster
from replica.health.features import RegisteredNode, registered_nodes
from replica.metadata.changes.releases import NEWEST_LEVELS, release_of
from replica.metadata.image.settings import METADATA_VERSION
from replica.preflight.answer import Preflight, Reason, note, preflight, unknown, unsafe


def upgrade(cluster: Cluster, release: str) -> Preflight:
    """The change to the newest metadata.version of a Kafka release. release: a key of
    NEWEST_LEVELS.

    Kafka asks every registered broker and controller, whether it runs or not.
    """
    wanted, now = NEWEST_LEVELS[release], cluster.metadata_version
    action = f"raise {METADATA_VERSION} to {release_of(wanted)}"
    if now is None:
        return preflight(action, [unknown(METADATA_VERSION, "the state has none")])
    at = cluster.offsets("features")[METADATA_VERSION]
    if now == wanted:
        return preflight(action, [note(METADATA_VERSION, "is at that level already", at)])
    if now > wanted:
        told = f"is at {release_of(now)}: Kafka refuses to lower it without --unsafe"
        return preflight(action, [unsafe(METADATA_VERSION, told, at)])
    nodes = registered_nodes(cluster)
    if not nodes:
        return preflight(action, [unknown("nodes", "none is registered in the state")])
    return preflight(action, [*_blockers(nodes, wanted)])


def _blockers(nodes: Iterable[RegisteredNode], wanted: int) -> Iterator[Reason]:
    for node in nodes:
        low, high = _supported(node.fields)
        if low <= wanted <= high:
            continue
        told = f"supports {release_of(low)} to {release_of(high)}" if high else "supports none"
        told += node.removal
        if node.fields.get("fenced"):  # only a broker has this field
            told += "; it is fenced: unregister it (kafka-cluster.sh unregister) if it is gone"
        yield unsafe(node.name, told, node.offset)


def _supported(fields: Mapping[str, Any]) -> tuple[int, int]:
    for one in fields["features"]:
        if one["name"] == METADATA_VERSION:
            return one["minSupportedVersion"], one["maxSupportedVersion"]
    return 0, 0
