"""The output of `kraftlake check --json`: rows of findings, and the summary at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pipelines import finding_rows
from replica.doctor.check.examined import Examined
from replica.doctor.check.group import GroupQuorum, JudgedDirectory
from replica.doctor.check.rule import Finding
from replica.doctor.check.snapshot_validity import Validity
from replica.doctor.quorum.log_ends import Behind
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.verdict import Verdict, worst
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.severity import Severity

NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
"""The word for one finding of each severity, the worst first."""


class CheckVerdict(StrEnum):
    """The verdicts on a directory or file. Their values are part of the output of --json."""

    ERROR = "error"
    WARNING = "warning"
    NO_FAULT_FOUND = "no-fault-found"
    """No fault was found, but not everything could be judged: a file on its own, a snapshot that
    was compared with no log, or a partition whose records are no metadata."""
    OK = "ok"


def directory_verdict(member: JudgedDirectory, compared: Iterable[Finding] = ()) -> CheckVerdict:
    """The verdict on one directory or file. compared: the findings that name this directory and
    come from the comparison with other directories."""
    found = {finding.severity for finding in (*member.findings, *compared)}
    for verdict in (CheckVerdict.ERROR, CheckVerdict.WARNING):
        if Severity(verdict) in found:
            return verdict
    judged = all(one.validity is Validity.VALID for one in member.verdicts)
    whole = member.examined.is_complete and member.partition.is_metadata and judged
    return CheckVerdict.OK if whole else CheckVerdict.NO_FAULT_FOUND


def last_epoch(examined: Examined) -> int | None:
    """The leader epoch of the log's last batch; None for a log without batches."""
    last = examined.last_batch
    return None if last is None else last.header.leader_epoch


def validities(member: JudgedDirectory) -> Mapping[str, int]:
    """The number of snapshots with each verdict, in the order of their first occurrence."""
    return Counter(str(one.validity) for one in member.verdicts)


def counted_by(findings: Iterable[Finding]) -> Counter[Severity]:
    """The number of findings of each severity."""
    return Counter(finding.severity for finding in findings)


def file_row(finding: Finding) -> dict[str, Any]:
    """A finding in the form of --json."""
    # the row has the field rule already: `rule` is here so that `family` follows it
    begin = {"kind": "finding", "rule": finding.rule.id, "family": finding.rule.family}
    return begin | finding_rows.finding_row(finding)


def health_row(judged: JudgedCluster, finding: Finding) -> dict[str, Any]:
    """A finding of health in the form of --json."""
    return {
        **file_row(finding),
        "cluster_id": judged.cluster_id,
        "end_offset": None if judged.cluster is None else judged.cluster.end_offset,
        "subjects": [subject._asdict() for subject in finding.subjects],
    }


def member_summary(
    cluster: JudgedCluster, member: JudgedDirectory, behind: Behind | None
) -> dict[str, Any]:
    """A directory or file in the summary of --json. A field is None where its value is unknown.
    behind: how far its log is behind; None where that is unknown."""
    examined, findings = member.examined, tuple(cluster.findings_of(member))
    replica, directory = examined.replica, examined.directory
    epoch = last_epoch(examined)
    return {
        "directory": examined.shown,
        "cluster_id": None if replica is None else replica.cluster_id,
        "node_id": None if replica is None else replica.node_id,
        "directory_id": None if replica is None else replica.directory_id,
        "role": None if member.role is None else str(member.role),
        "role_by_own_log": None if member.role_by_own_log is None else str(member.role_by_own_log),
        "partition": member.partition.shown,
        "verdict": str(directory_verdict(member, findings)),
        **_severity_counts(counted_by(findings)),
        "log_start_offset": None if epoch is None else directory.log_start_offset,
        "log_end_offset": None if epoch is None else directory.log_end_offset,
        "lag_records": None if behind is None else behind.records,
        "lag_ms": None if behind is None else behind.ms,
        "epoch": epoch,
        "snapshots": dict(validities(member)),
    }


def health_summary(judged: JudgedCluster) -> dict[str, Any]:
    """A cluster in the summary of --json."""
    cluster, counts = judged.cluster, counted_by(judged.health or ())
    return {
        "cluster_id": judged.cluster_id,
        "directory": None if judged.state is None else judged.state.examined.shown,
        "end_offset": None if cluster is None else cluster.end_offset,
        "is_whole": cluster is not None and cluster.is_whole,
        "verdict": None if cluster is None else _health_verdict(counts),
        **_severity_counts(counts),
    }


def _health_verdict(counts: Mapping[Severity, int]) -> str:
    worse = [one for one in (Severity.ERROR, Severity.WARNING) if counts[one]]
    return str(worse[0]) if worse else "healthy"


def quorum_summary(quorum: GroupQuorum) -> dict[str, Any]:
    """The quorum of a cluster in the summary of --json."""
    return {
        "cluster_id": quorum.cluster_id,
        "voters": [_voter_row(voter) for voter in sorted(quorum.voters)],
        "not_checked": [_voter_row(voter) for voter in sorted(quorum.missing)],
    }


def _voter_row(voter: ReplicaKey) -> dict[str, Any]:
    directory_id = None if voter.directory_id == ZERO_UUID else voter.directory_id
    return {"node_id": voter.node_id, "directory_id": directory_id}


def summary(
    verdicts: Sequence[Verdict],
    rows: tuple[Sequence[dict[str, Any]], Sequence[dict[str, Any]], Sequence[dict[str, Any]]],
    counts: Mapping[Severity, int],
    exit_code: int,
) -> dict[str, Any]:
    """The last line of --json. rows: of the directories, of health and of the quorums. counts: the
    number of findings of each severity, shown or not."""
    directories, health, quorums = rows
    level = worst(verdicts)
    told = {
        "level": None if level is None else level.value,
        "checked": len(directories),
        **_severity_counts(counts),
        "exit_code": exit_code,
        "directories": list(directories),
        "health": list(health),
        "quorums": list(quorums),
    }
    return {"kind": "summary", "summary": told}


def _severity_counts(counts: Mapping[Severity, int]) -> dict[str, int]:
    """The counts in the form of --json: errors, warnings, notes."""
    return {f"{noun}s": counts.get(severity, 0) for severity, noun in NOUNS.items()}
