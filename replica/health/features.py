"""Feature levels: which of them the registered nodes support, and which nodes block a higher level.

Kafka (FeatureControlManager) raises a feature only if every registered broker and controller
supports the new level, whether it runs or not. A node that doesn't name a feature supports level 0
only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replica.check.catalogue import health
from replica.check.rule import Finding, Subject
from replica.health.cluster import Cluster, and_more, highest_levels
from replica.health.quorum import controllers_without_vote, how_to_remove
from replica.metadata.changes.releases import release_of
from replica.metadata.image.settings import METADATA_VERSION


@dataclass(frozen=True, slots=True)
class _Node:
    """A registered broker or controller. controller_id: None for a broker. highest: see
    highest_levels. offset: the offset of its registration."""

    name: str
    controller_id: int | None
    highest: Mapping[str, int]
    offset: int


def judge_features(cluster: Cluster) -> Iterator[Finding]:
    """The rules about levels that could be raised, and about nodes that block a level."""
    registered = [*_nodes(cluster, "broker"), *_nodes(cluster, "controller")]
    if not registered or cluster.metadata_version is None:
        return
    yield from _behind(cluster, registered)
    ghosts = set(controllers_without_vote(cluster))
    blocked: list[Subject] = []
    by_ghosts: list[Subject] = []
    for feature in sorted({name for node in registered for name in node.highest}):
        others = [node for node in registered if node.controller_id not in ghosts]
        level, lowest = cluster.level(feature), _lowest(others, feature)
        if lowest > level:
            by_ghosts += _blockers(cluster, feature, lowest, registered)
        else:
            best = max(node.highest.get(feature, 0) for node in registered)
            blocked += _blockers(cluster, feature, best, registered) if best > level else []
    yield from cluster.about(health.GHOST_BLOCKS_FEATURE, _counted(by_ghosts), by_ghosts)
    yield from cluster.about(health.FEATURE_BLOCKED, _counted(blocked), blocked)


def _behind(cluster: Cluster, registered: list[_Node]) -> Iterator[Finding]:
    level, lowest = cluster.level(METADATA_VERSION), _lowest(registered, METADATA_VERSION)
    if lowest > level:
        told = f"{release_of(level)} is finalized; all {len(registered)} nodes support "
        message = told + release_of(lowest)
        at = cluster.offsets("features")[METADATA_VERSION]
        subject = Subject(METADATA_VERSION, f"may be raised to {release_of(lowest)}", at)
        yield health.METADATA_VERSION_BEHIND.of(cluster.file, message, (subject,))


def _blockers(
    cluster: Cluster, feature: str, wanted: int, registered: list[_Node]
) -> Iterator[Subject]:
    """The nodes that don't support the level `wanted`."""
    ghosts = set(controllers_without_vote(cluster))
    for node in registered:
        highest = node.highest.get(feature, 0)
        if highest < wanted:
            own, others = _shown(feature, highest), _shown(feature, wanted)
            told = f"{feature}: supports {own}, others {others}"
            if node.controller_id is not None and node.controller_id in ghosts:
                told += f"; {how_to_remove(cluster, node.controller_id)}"
            yield Subject(node.name, told, node.offset)


def _counted(subjects: list[Subject]) -> str:
    features = sorted({subject.what.partition(":")[0] for subject in subjects})
    return and_more(features)


def _nodes(cluster: Cluster, kind: str) -> Iterator[_Node]:
    offsets = cluster.offsets(f"{kind}s")
    for node_id, fields in sorted(cluster.values(f"{kind}s").items()):
        controller_id = node_id if kind == "controller" else None
        yield _Node(f"{kind} {node_id}", controller_id, highest_levels(fields), offsets[node_id])


def _lowest(registered: list[_Node], feature: str) -> int:
    return min((node.highest.get(feature, 0) for node in registered), default=0)


def _shown(feature: str, level: int) -> str:
    return release_of(level) if feature == METADATA_VERSION else str(level)
