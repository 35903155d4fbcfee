"""Judges whether nodes start, whether each node joins, and whether their quorum elects a leader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from replica.doctor.startup.directory_rules import (
    judge_formatted,
    judge_identities,
    judge_log_files,
    judge_metadata_logs,
    judge_named,
    judge_unread,
    judge_unreadable,
    judge_writable,
)
from replica.doctor.startup.line_rules import (
    judge_addresses,
    judge_file,
    judge_names,
    judge_values,
)
from replica.doctor.startup.obstacle import Obstacle, Start, StartingNode
from replica.doctor.startup.quorum_rules import (
    home_cluster,
    judge_among,
    judge_own_address,
    judge_own_disk,
    judge_static_voters,
)
from replica.doctor.startup.security_rules import (
    judge_logins,
    judge_mechanism_of_brokers,
    judge_protocols,
    judge_stores,
    judge_way_to_controllers,
)
from replica.doctor.startup.settings_rules import (
    judge_broker_listeners,
    judge_controller_listeners,
    judge_listeners,
    judge_node_id,
    judge_quorum,
    judge_roles,
    judge_segment,
    judge_voters,
)
from replica.model.voters import majority

Judge = Callable[[StartingNode], Iterator[Obstacle]]
OF_THE_START: tuple[Judge, ...] = (
    judge_file, judge_values, judge_addresses, judge_roles, judge_node_id, judge_named,
    judge_quorum, judge_protocols, judge_listeners, judge_voters, judge_controller_listeners,
    judge_broker_listeners, judge_mechanism_of_brokers, judge_unreadable, judge_identities,
    judge_metadata_logs, judge_formatted, judge_writable, judge_segment, judge_stores, judge_logins,
    judge_log_files, judge_unread,
)  # fmt: skip
"""The rules about the start, in the order of Kafka's own checks: Kafka logs only the first
problem."""
OF_THE_QUORUM: tuple[Judge, ...] = (judge_static_voters, judge_own_disk, judge_own_address)
"""The rules about the quorum, for a node that starts."""


class Election(StrEnum):
    """Whether the given nodes elect a leader. The values are part of the output of `check
    --json`."""

    ELECTS = "elects"
    """A majority of the voters starts and joins."""
    NEEDS_OTHERS = "needs-others"
    """The election depends on voters that were not given."""
    NEVER = "never"
    """No majority of the voters can start and join."""


@dataclass(frozen=True, slots=True)
class NodeStart:
    """The judgement of one node."""

    node: StartingNode
    obstacles: tuple[Obstacle, ...]
    """The obstacles, in the order in which Kafka finds them."""

    @property
    def start(self) -> Start:
        found = {one.start for one in self.obstacles}
        return next((one for one in Start if one in found), Start.STARTS)


@dataclass(frozen=True, slots=True)
class QuorumStart:
    """The judgement of the quorum."""

    election: Election
    voters: frozenset[int]
    """The ids of all voters; empty where no file names any."""
    joining: frozenset[int]
    """The ids of the voters that start and join the quorum."""
    not_given: frozenset[int]
    """The ids of the voters whose settings were not given."""


@dataclass(frozen=True, slots=True)
class Starts:
    """The judgement of several nodes that are about to start together, in the order in which they
    were given."""

    nodes: tuple[NodeStart, ...]
    quorum: QuorumStart


def judge_starts(nodes: Sequence[StartingNode]) -> Starts:
    """Judge nodes of one quorum."""
    judged = tuple(NodeStart(one, tuple(_obstacles(one, nodes))) for one in nodes)
    return Starts(judged, _quorum_start(judged))


def _obstacles(node: StartingNode, nodes: Sequence[StartingNode]) -> Iterator[Obstacle]:
    at_start = [found for judge in OF_THE_START for found in judge(node)]
    yield from at_start
    if all(one.start is not Start.REFUSES for one in at_start):
        for judge in OF_THE_QUORUM:
            yield from judge(node)
        yield from judge_way_to_controllers(node, nodes)
        yield from judge_among(node, nodes)
    yield from judge_names(node)


def _quorum_start(nodes: Sequence[NodeStart]) -> QuorumStart:
    home = home_cluster([one.node for one in nodes])
    voters = voters_of([one.node for one in nodes if one.node.cluster_id in (None, home)])
    given = {one.node.config.node_id for one in nodes if one.node.config.is_controller}
    starting = {
        one.node.config.node_id
        for one in nodes
        if one.start is Start.STARTS and one.node.config.is_controller
    }
    joining, not_given = frozenset(one for one in voters if one in starting), voters - given
    return QuorumStart(_election(voters, joining, not_given, nodes), voters, joining, not_given)


def _election(
    voters: frozenset[int],
    joining: frozenset[int],
    not_given: frozenset[int],
    nodes: Sequence[NodeStart],
) -> Election:
    if not voters:
        never = all(one.start is not Start.STARTS for one in nodes)
        return Election.NEVER if never else Election.NEEDS_OTHERS
    needed = majority(len(voters))
    if len(joining) >= needed:
        return Election.ELECTS
    return Election.NEEDS_OTHERS if len(joining | not_given) >= needed else Election.NEVER


def voters_of(nodes: Sequence[StartingNode]) -> frozenset[int]:
    """The voters' ids: from the voters record of the newest log that has one; else from the setting
    that the most nodes share; else from the log of a static quorum; else empty."""
    dynamic = [one.own_log for one in nodes if one.own_log.dynamic_voters is not None]
    newest = max(dynamic, key=lambda one: one.last, default=None)
    if newest is not None and newest.dynamic_voters is not None:
        return frozenset(newest.dynamic_voters.ids)
    configured = Counter(frozenset(one.config.static_voters) for one in nodes)
    configured.pop(frozenset(), None)
    if configured:
        return configured.most_common(1)[0][0]
    by_logs = [one.own_log.static_voters for one in nodes]
    return next(filter(None, by_logs), frozenset())
