"""The health of clusters for `kraftlake check`: which rules apply, and the lines about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.cli.directories.check_text import (
    NOUNS,
    counted_by,
    described_rule,
    finding_row,
    severities,
    severity_counts,
)
from jobs.cli.output import coloured, more_line
from replica.check.group import JudgedGroup
from replica.check.rule import Finding, Subject
from replica.errors import UsageError
from replica.health.cluster import Cluster
from replica.health.judging import judge_health
from replica.health.of_directories import cluster_of
from replica.severity import Severity
from replica.terminal_text import one_line
from replica.words import counted


@dataclass(frozen=True, slots=True)
class Families:
    """The families of rules whose findings are printed.

    files: rules about one directory, or several directories together. health: rules about clusters.
    health_counts: whether the exit code depends on findings of health, and its notes are printed
    one by one. health_of_files: whether health is also judged for a segment or snapshot that is
    named without its directory, and may be an old one.
    """

    files: bool = True
    health: bool = True
    health_counts: bool = False
    health_of_files: bool = False


_BY_NAME = {
    "files": Families(health=False),
    "health": Families(files=False, health_counts=True, health_of_files=True),
    "all": Families(health_counts=True),
}


def families_of(name: str | None, *, replay: bool) -> Families:
    """The families of --family; name is None where it isn't given. Raises UsageError for an unknown
    name, and for health without a replay, which it needs."""
    if name is None:
        return Families()
    families = _BY_NAME.get(name.lower())
    if families is None:
        raise UsageError(f"--family {name}: expected {', '.join(_BY_NAME)}")
    if families.health and not replay:
        raise UsageError(f"--family {name} needs the replay: leave --no-replay out")
    return families


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """The health of one cluster. findings: the worst first. cluster: None where no state could be
    replayed."""

    cluster_id: str | None
    directory: str
    cluster: Cluster | None
    findings: tuple[Finding, ...]


def health_of(
    judged: JudgedGroup, families: Families, broker_defaults: Mapping[str, str]
) -> Iterator[ClusterHealth]:
    """The health of each cluster of a group."""
    for told in judged.states:
        examined = told.examined
        if not (examined.is_directory or families.health_of_files):
            continue
        cluster = cluster_of(told, broker_defaults)
        findings = () if cluster is None else tuple(judge_health(cluster))
        yield ClusterHealth(told.cluster_id, examined.shown, cluster, findings)


def describe_health(health: ClusterHealth, shown: Sequence[Finding], limit: int) -> Iterator[str]:
    """A line with the verdict, and below it the findings to print."""
    who = "a cluster without a known id" if health.cluster_id is None else health.cluster_id
    title = f"health of {who}"
    if health.cluster is None:
        yield one_line(f"{title}: not known, no state could be replayed ({health.directory})")
        return
    verdict = severities(health.findings) or coloured("healthy", "green")
    notes = counted_by(health.findings)[Severity.INFO]
    if notes:
        verdict += ", " + counted(notes, NOUNS[Severity.INFO])
    where = f"at offset {health.cluster.end_offset} of {health.directory}"
    yield one_line(f"{title}: ") + verdict + one_line(f" ({where})")
    for finding in shown:
        places = [finding.message, *_named(finding.subjects, limit)]
        yield from described_rule(finding.rule, places)


def health_row(health: ClusterHealth, finding: Finding) -> dict[str, Any]:
    """A finding in the form of --json."""
    end_offset = None if health.cluster is None else health.cluster.end_offset
    return {
        **finding_row(finding),
        "cluster_id": health.cluster_id,
        "end_offset": end_offset,
        "subjects": [subject._asdict() for subject in finding.subjects],
    }


def health_summary(health: ClusterHealth) -> dict[str, Any]:
    """A cluster in the summary of --json."""
    cluster, counts = health.cluster, counted_by(health.findings)
    return {
        "cluster_id": health.cluster_id,
        "directory": health.directory,
        "end_offset": None if cluster is None else cluster.end_offset,
        "is_whole": cluster is not None and cluster.is_whole,
        "verdict": None if cluster is None else _verdict(counts),
        **severity_counts(counts),
    }


def _verdict(counts: Mapping[Severity, int]) -> str:
    worst = [one for one in (Severity.ERROR, Severity.WARNING) if counts[one]]
    return str(worst[0]) if worst else "healthy"


def _named(subjects: Sequence[Subject], limit: int) -> Iterator[str]:
    for subject in subjects[:limit]:
        offset = "" if subject.offset is None else f", offset {subject.offset}"
        yield f"{subject.name}{offset}: {subject.what}"
    yield from more_line(limit, len(subjects))
