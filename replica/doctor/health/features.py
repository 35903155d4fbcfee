"""Feature levels: which of them the registered nodes support, and which nodes block a higher level.

Kafka (FeatureControlManager) raises a feature only if every registered broker and controller
supports the new level, whether it runs or not. A node that doesn't name a feature supports only
level 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import Cluster, and_more
from replica.doctor.health.quorum import controllers_without_vote, how_to_remove
from replica.metadata.changes.releases import level_text, release_of
from replica.metadata.image.settings import METADATA_VERSION


@dataclass(frozen=True, slots=True)
class RegisteredNode:
    """A registered broker or controller."""

    name: str
    fields: Mapping[str, Any]
    """The fields of the node's registration."""
    offset: int
    """The offset of the node's registration."""
    highest: Mapping[str, int]
    """The highest level of each feature that the node supports (see highest_levels)."""
    removal: str
    """How to remove the registration of a controller that isn't a voter, as the end of a sentence;
    "" for all other nodes."""


def registered_nodes(cluster: Cluster) -> list[RegisteredNode]:
    """The registered brokers, then the registered controllers, both sorted by id."""
    ghosts = set(controllers_without_vote(cluster))
    found = []
    for kind in ("broker", "controller"):
        offsets = cluster.offsets(f"{kind}s")
        for node_id, fields in sorted(cluster.values(f"{kind}s").items()):
            is_ghost = kind == "controller" and node_id in ghosts
            removal = f"; {how_to_remove(cluster, node_id)}" if is_ghost else ""
            name, levels = f"{kind} {node_id}", highest_levels(fields)
            found.append(RegisteredNode(name, fields, offsets[node_id], levels, removal))
    return found


def judge_features(cluster: Cluster) -> Iterator[Finding]:
    """Findings of the rules about levels that could be raised, and about nodes that block a
    level."""
    registered = registered_nodes(cluster)
    if not registered or cluster.metadata_version is None:
        return
    yield from _behind(cluster, registered)
    others = [node for node in registered if not node.removal]
    blocked: list[Subject] = []
    by_ghosts: list[Subject] = []
    for feature in sorted({name for node in registered for name in node.highest}):
        level, lowest = cluster.level(feature), _lowest(others, feature)
        if lowest > level:
            by_ghosts += _blockers(feature, lowest, registered)
        else:
            best = max(node.highest.get(feature, 0) for node in registered)
            blocked += _blockers(feature, best, registered) if best > level else []
    yield from cluster.about(health.GHOST_BLOCKS_FEATURE, _counted(by_ghosts), by_ghosts)
    yield from cluster.about(health.FEATURE_BLOCKED, _counted(blocked), blocked)


def _behind(cluster: Cluster, registered: list[RegisteredNode]) -> Iterator[Finding]:
    level, lowest = cluster.level(METADATA_VERSION), _lowest(registered, METADATA_VERSION)
    if lowest > level:
        told = f"{release_of(level)} is finalized; all {len(registered)} nodes support "
        message = told + release_of(lowest)
        at = cluster.offsets("features")[METADATA_VERSION]
        subject = Subject(METADATA_VERSION, f"may be raised to {release_of(lowest)}", at)
        yield from cluster.about(health.METADATA_VERSION_BEHIND, message, (subject,))


def _blockers(feature: str, wanted: int, registered: list[RegisteredNode]) -> Iterator[Subject]:
    """The nodes that don't support the level `wanted`."""
    for node in registered:
        highest = node.highest.get(feature, 0)
        if highest < wanted:
            own, others = level_text(feature, highest), level_text(feature, wanted)
            told = f"{feature}: supports {own}, others {others}{node.removal}"
            yield Subject(node.name, told, node.offset)


def _counted(subjects: list[Subject]) -> str:
    return and_more(sorted({subject.what.partition(":")[0] for subject in subjects}))


def _lowest(registered: list[RegisteredNode], feature: str) -> int:
    return min((node.highest.get(feature, 0) for node in registered), default=0)


def highest_levels(registration: Mapping[str, Any]) -> dict[str, int]:
    """The newest level of each feature that a broker or controller supports. For a missing feature
    the node supports only level 0. registration: the fields of the node's record."""
    return {one["name"]: one["maxSupportedVersion"] for one in registration["features"]}
