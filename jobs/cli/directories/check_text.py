"""The text of `kraftlake check` below the verdict: the table of nodes, and the findings by rule.
For a quorum that never had a leader also how each node was formatted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from jobs.cli.directories.check_rows import (
    NOUNS,
    CheckVerdict,
    counted_by,
    directory_verdict,
    last_epoch,
    validities,
)
from jobs.cli.directories.several_verdicts import nodes_of_cluster
from jobs.cli.output import coloured, more_line, table_lines
from replica.doctor.check.catalogue import RULES
from replica.doctor.check.examined import Examined
from replica.doctor.check.first_election import FormattedNode, candidates
from replica.doctor.check.group import JudgedDirectory
from replica.doctor.check.rule import Finding, Rule
from replica.doctor.quorum.log_ends import Behind
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.facts import AT_RISK
from replica.doctor.verdict.outage import OUTAGE_RULES
from replica.errors import UsageError
from replica.metadata.image.settings import METADATA_VERSION
from replica.severity import Severity
from replica.terminal_text import one_line
from replica.words import counted, listed, named

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_ORDER = {rule.id: place for place, rule in enumerate(RULES)}
_MAX_BROKERS = 5
MEMBER_COLUMNS = (
    "node", "role", "log", "behind", "epoch", "snapshots", "result", "directory or file",
)  # fmt: skip


@dataclass(frozen=True)
class LocatedFinding:
    """A finding with the user's name of its file."""

    where: str
    """The name of the node; "" where the file's name shows it."""
    finding: Finding
    member: JudgedDirectory | None = None
    """The directory of the file; None where the finding compares several directories."""
    health: JudgedCluster | None = None
    """The cluster that a finding of health is about; None for other findings."""


def severity_of(option: str, text: str) -> Severity:
    """The severity of a word of the user, such as note or warning. The words of --json for
    severities are understood, too. option: the option's name, for the message. Raises UsageError
    for an unknown word."""
    for severity, noun in NOUNS.items():
        if text.lower() in (severity, noun):
            return severity
    raise UsageError(f"{option} {text}: expected note (or info), warning or error")


def reaches(counts: Mapping[Severity, int], level: Severity) -> bool:
    """Whether the counts have a finding of the severity `level` or of a worse one."""
    return any(count and one.rank <= level.rank for one, count in counts.items())


def member_cells(
    cluster: JudgedCluster, member: JudgedDirectory, behind: Behind | None
) -> tuple[str, ...]:
    """A directory or file of a cluster as a row of the table MEMBER_COLUMNS. behind: how far its
    log is behind; None where that is unknown."""
    examined = member.examined
    replica, epoch = examined.replica, last_epoch(examined)
    snapshots = listed([f"{count} {name}" for name, count in validities(member).items()])
    return (
        "-" if replica is None else str(replica.node_id),
        _role(member),
        _log(examined, epoch),
        "-" if behind is None else behind.text,
        "-" if epoch is None else str(epoch),
        snapshots or "-",
        _result(member, cluster.findings_of(member)),
        examined.shown,
    )


def _role(member: JudgedDirectory) -> str:
    """The node's role, such as `voter` or `voter (observer by its own log)`; `-` where it is
    unknown. A node acts by the voter set in its own log. If that set is out of date, a voter may
    act as an observer, or an observer as a voter."""
    if member.role is None:
        return "-"
    own = member.role_by_own_log
    return f"{member.role}" + (f" ({own} by its own log)" if own not in (None, member.role) else "")


def _log(examined: Examined, epoch: int | None) -> str:
    directory = examined.directory
    if epoch is None:
        return "no record"
    return f"{directory.log_start_offset} to {directory.log_end_offset - 1}"


def _result(member: JudgedDirectory, findings: Iterable[Finding]) -> str:
    """The text about a directory or file, such as `ok`, `2 errors` or `incomplete copy`; `no fault
    found` where not everything could be judged."""
    counts = counted_by(findings)
    bad = [
        counted(counts[severity], NOUNS[severity])
        for severity in (Severity.ERROR, Severity.WARNING)
        if counts[severity]
    ]
    if bad:
        return ", ".join(bad)
    if member.examined.is_directory and not member.examined.is_complete:
        return "incomplete copy"
    return "ok" if directory_verdict(member) is CheckVerdict.OK else "no fault found"


def describe_findings(located: Sequence[LocatedFinding], limit: int) -> Iterator[str]:
    """The findings by rule; the rules that matter most to users come first. limit: the most places
    that are listed for a rule."""
    ordered = sorted(located, key=_weight)
    if ordered:
        yield ""
    for rule, group in groupby(ordered, key=lambda one: one.finding.rule):
        found = list(group)
        places = [place for one in found for place in _places(one, limit)]
        shown = places if rule.family == "health" else places[:limit]
        more = () if rule.family == "health" else more_line(limit, len(places))
        yield from _described(rule, (*shown, *more))


def _weight(located: LocatedFinding) -> tuple[bool, bool, int, int]:
    rule = located.finding.rule
    order = _ORDER.get(rule.id, len(_ORDER))
    return rule.id not in OUTAGE_RULES, rule.id not in AT_RISK, rule.severity.rank, order


def _places(located: LocatedFinding, limit: int) -> Iterator[str]:
    finding = located.finding
    if located.health is None:
        yield f"{_place(located)}: {finding.message}"
        return
    yield finding.message
    for subject in finding.subjects[:limit]:
        offset = "" if subject.offset is None else f", offset {subject.offset}"
        yield f"{subject.name}{offset}: {subject.what}"
    yield from more_line(limit, len(finding.subjects))


def _described(rule: Rule, places: Iterable[str]) -> Iterator[str]:
    """A rule with findings: its meaning, the places and, unless it is a note, what to do."""
    name = coloured(f"{NOUNS[rule.severity]:<7}", _COLOURS[rule.severity])
    yield f"{name}  {rule.id}: {rule.meaning}"
    for place in places:
        yield one_line(f"         {place}")
    if rule.severity is not Severity.INFO:
        yield f"         Kafka: {rule.kafka}"
        yield f"         Next:  {rule.next_step}"


def _place(located: LocatedFinding) -> str:
    finding = located.finding
    folder = "" if located.member is None else _folder(located.member.examined)
    file = finding.file.removeprefix(folder) or "."
    parts = [located.where, file] if located.where and folder else [finding.file]
    if finding.position is not None:
        parts.append(f"byte {finding.position}")
    if finding.offset is not None:
        parts.append(f"offset {finding.offset}")
    return ", ".join(parts)


def _folder(examined: Examined) -> str:
    """The folder that places omit, because the table of nodes names it."""
    return os.path.join(examined.shown, "") if examined.is_directory else ""


def describe_counts(directories: int, counts: Mapping[Severity, int], least: Severity) -> str:
    """The last line: how many directories or files were checked, and how many findings of each
    severity there are. least: the least severity whose findings are shown."""
    what = "1 directory or file" if directories == 1 else f"{directories} directories or files"
    told = ", ".join(counted(counts[severity], noun) for severity, noun in NOUNS.items())
    hidden = [f"{noun}s" for one, noun in NOUNS.items() if one.rank > least.rank and counts[one]]
    return f"{what} checked: {told}" + (f" (not shown: {listed(hidden)})" if hidden else "")


_COLUMNS = ("node", "cluster", "formatted", "voters", "epoch", "first records", "directory")


def first_election_lines(
    nodes: Sequence[FormattedNode], configured: frozenset[int]
) -> Iterator[str]:
    """A row for each node, and for each cluster the nodes that may lead. Nothing where there was a
    leader. configured: the voters that settings name, for nodes whose files name none."""
    if not nodes:
        return
    yield ""
    yield "No log here holds a record. How the nodes were formatted:"
    yield ""
    yield from table_lines(_COLUMNS, map(_cells, nodes))
    for cluster in candidates(nodes):
        known = replace(cluster, voters=cluster.voters or configured)
        yield f"cluster {known.cluster_id}: {known.text}"


def _cells(node: FormattedNode) -> tuple[str, ...]:
    voters = sorted({voter.node_id for voter in node.voters})
    return (
        str(node.replica.node_id),
        node.replica.cluster_id,
        node.formatting.value.replace("-", " "),
        listed([str(one) for one in voters]) or "-",
        "-" if node.epoch is None else str(node.epoch),
        listed(sorted(node.records or (), key=_first_election_weight), limit=2) or "-",
        listed(node.shown, limit=2),
    )


def _first_election_weight(record: str) -> tuple[bool, bool, str]:
    """The sort key of a record. SCRAM credentials come first, then the metadata.version, because
    the nodes may differ in these."""
    return not record.startswith("SCRAM"), not record.startswith(METADATA_VERSION), record


def first_election_rows(nodes: Sequence[FormattedNode]) -> Iterator[dict[str, Any]]:
    """The rows of --json about the first election."""
    for node in nodes:
        yield {
            "kind": "formatted",
            "cluster_id": node.replica.cluster_id,
            "node_id": node.replica.node_id,
            "directory_id": node.replica.directory_id,
            "directories": list(node.shown),
            "formatting": node.formatting.value,
            "voters": sorted({voter.node_id for voter in node.voters}),
            "epoch": node.epoch,
            "records": None if node.records is None else sorted(node.records),
        }


def brokers_not_given(judged: JudgedCluster) -> Iterator[str]:
    """Sentences about registered brokers of which no log directory, or not each online log
    directory, was given. None where no broker's log was given, except a voter's. A missing
    directory of a voter is a gap of the verdict instead."""
    if judged.cluster is None:
        return
    registered, given = {*judged.cluster.values("brokers")}, {*nodes_of_cluster(judged)}
    voters = {one.node_id for one in judged.quorum.voters} if judged.quorum is not None else set()
    if not registered & given - voters:
        return
    without_log = registered - given - voters
    here, online = judged.cluster.given_directories, judged.cluster.online_directories
    partly = sorted(one for one in without_log if here.get(one))
    for one in partly:
        if rest := sorted(online.get(one, frozenset()) - here[one]):
            noun, they = ("directory", "it was") if len(rest) == 1 else ("directories", "they were")
            yield f"not given: {noun} {listed(rest)} of broker {one}, so {they} not judged"
    absent = sorted(without_log.difference(partly))
    if absent:
        brokers = named("broker", [str(one) for one in absent], limit=_MAX_BROKERS)
        whose = "its disks were" if len(absent) == 1 else "their disks were"
        which = "directory" if len(absent) == 1 else "directories"
        yield f"not given: the {which} of {brokers}, so {whose} not judged"
