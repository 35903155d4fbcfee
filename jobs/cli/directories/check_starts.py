"""What `check --config` says about the start of each node, and about the quorum's election."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from jobs.cli.directories.check_text import LocatedFinding
from jobs.cli.output import table_lines
from replica.doctor.startup.judging import Election, NodeStart, QuorumStart, Starts
from replica.doctor.startup.obstacle import Start
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding
from replica.doctor.verdict.verdict import Gap
from replica.model.voters import majority
from replica.severity import Severity
from replica.terminal_text import one_line
from replica.words import listed, named, number

_SHOWN = {
    Start.STARTS: "starts",
    Start.NEVER_JOINS: "starts, never joins",
    Start.REFUSES: "refuses to start",
}
_COLUMNS = ("node", "roles", "start", "settings")


def start_lines(starts: Starts | None) -> Iterator[str]:
    """A row for each node, Kafka's message where it refuses to start, and a line about the quorum;
    no line where `starts` is None."""
    if starts is None:
        return
    yield ""
    yield from table_lines(_COLUMNS, (_cells(one) for one in starts.nodes))
    for one in starts.nodes:
        first = next((each for each in one.obstacles if each.start is one.start), None)
        if first is not None and first.words and one.start is Start.REFUSES:
            yield one_line(f"{_node(one)}: Kafka says: {first.words}")
    yield f"quorum: {_quorum(starts.quorum)}"


def _cells(one: NodeStart) -> tuple[str, ...]:
    config, own = one.node.config, one.node.config.node_id
    roles = listed(sorted({*config.roles} & {"broker", "controller"}))
    return ("-" if own is None else str(own), roles or "-", _SHOWN[one.start], config.path)


def _node(one: NodeStart) -> str:
    own = one.node.config.node_id
    return one.node.config.path if own is None else f"node {own}"


def _quorum(quorum: QuorumStart) -> str:
    if not quorum.voters:
        return "no file names a voter"
    count, needed = len(quorum.voters), majority(len(quorum.voters))
    joining = (
        f"{number(len(quorum.joining))} of {count} voters start and join; a majority is {needed}"
    )
    if quorum.election is Election.ELECTS:
        return f"elects a leader: {joining}"
    others = named("voter", [str(one) for one in sorted(quorum.not_given)])
    if quorum.election is Election.NEEDS_OTHERS:
        return f"needs {others} too: {joining}"
    return f"never elects a leader: {joining}"


def with_starts(
    starts: Starts, evidence: ClusterEvidence, located: Sequence[LocatedFinding]
) -> tuple[ClusterEvidence, list[LocatedFinding]]:
    """The evidence and the findings about files, together with those about the start of nodes. A
    finding that a comparison of the same files has made already is left out."""
    known = {(one.finding.rule.id, one.finding.file) for one in located}
    placed = [
        PlacedFinding(_node(one), obstacle.finding)
        for one in starts.nodes
        for obstacle in one.obstacles
        if (obstacle.finding.rule.id, obstacle.finding.file) not in known
    ]
    more = replace(
        evidence,
        findings=(*evidence.findings, *placed),
        gaps=(*evidence.gaps, *_gaps(starts.quorum)),
    )
    return more, [*located, *(LocatedFinding(one.where, one.finding) for one in placed)]


def _gaps(quorum: QuorumStart) -> Iterator[Gap]:
    """What could not be judged about the first election."""
    if quorum.election is Election.NEEDS_OTHERS and quorum.not_given:
        others = [str(one) for one in sorted(quorum.not_given)]
        yield Gap(
            "whether the quorum elects a leader",
            f"the settings of {named('voter', others)} were not given",
            "Add --config for each.",
        )


def start_rows(starts: Starts | None) -> Iterator[dict[str, Any]]:
    """The rows of --json: one for each node, and one for the quorum; none where `starts` is
    None."""
    if starts is None:
        return
    for one in starts.nodes:
        yield {
            "kind": "start",
            "config": one.node.config.path,
            "node_id": one.node.config.node_id,
            "roles": list(one.node.config.roles),
            "cluster_id": one.node.cluster_id,
            "directory_id": one.node.directory_id,
            "release": ".".join(map(str, one.node.release)),
            "start": one.start.value,
            "obstacles": [
                {
                    "rule": each.finding.rule.id,
                    "start": each.start.value,
                    "message": each.finding.message,
                    "kafka": each.words,
                }
                for each in one.obstacles
                if each.finding.severity is not Severity.INFO
            ],
        }
    yield {
        "kind": "election",
        "election": starts.quorum.election.value,
        "voters": sorted(starts.quorum.voters),
        "joining": sorted(starts.quorum.joining),
        "not_given": sorted(starts.quorum.not_given),
    }
