"""The verdicts of `kraftlake check` on directories and files, and on a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from pipelines import finding_rows
from replica.check.examined import Examined
from replica.check.group import JudgedDirectory
from replica.check.rule import Finding
from replica.check.snapshots import Validity
from replica.errors import UsageError
from replica.severity import Severity

NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
"""The word for one finding of each severity, the worst first."""


class CheckVerdict(StrEnum):
    """The verdicts. Their values are part of the output of --json."""

    ERROR = "error"
    WARNING = "warning"
    NO_FAULT_FOUND = "no-fault-found"
    """No fault was found, but not everything could be judged: a file on its own, a snapshot that
    was compared with no log, or a partition whose records are no metadata."""
    SOUND = "sound"


def verdict_of(member: JudgedDirectory) -> CheckVerdict:
    """The verdict on one directory or file."""
    found = {finding.severity for finding in member.findings}
    for severity, verdict in (
        (Severity.ERROR, CheckVerdict.ERROR),
        (Severity.WARNING, CheckVerdict.WARNING),
    ):
        if severity in found:
            return verdict
    judged = all(one.validity is Validity.VALID for one in member.verdicts)
    whole = member.examined.is_directory and member.partition.is_metadata and judged
    return CheckVerdict.SOUND if whole else CheckVerdict.NO_FAULT_FOUND


def last_epoch(examined: Examined) -> int | None:
    """The leader epoch of the log's last batch, None for a log without one."""
    held = [segment.scan.batches for segment in examined.directory.segments]
    batches = next((each for each in reversed(held) if each), None)
    return None if batches is None else batches[-1].header.leader_epoch


def validities(member: JudgedDirectory) -> Mapping[str, int]:
    """How many snapshots have each verdict, in the order of their first occurrence."""
    return Counter(str(one.validity) for one in member.verdicts)


def member_summary(member: JudgedDirectory) -> dict[str, Any]:
    """A directory or file in the summary of --json. A field is None where its value is unknown."""
    examined = member.examined
    replica, directory = examined.replica, examined.directory
    epoch = last_epoch(examined)
    return {
        "directory": examined.shown,
        "cluster_id": None if replica is None else replica.cluster_id,
        "node_id": None if replica is None else replica.node_id,
        "directory_id": None if replica is None else replica.directory_id,
        "role": None if member.role is None else str(member.role),
        "partition": member.partition.shown,
        "verdict": str(verdict_of(member)),
        **severity_counts(counted_by(member.findings)),
        "log_start_offset": None if epoch is None else directory.log_start_offset,
        "log_end_offset": None if epoch is None else directory.log_end_offset,
        "epoch": epoch,
        "snapshots": dict(validities(member)),
    }


def finding_row(finding: Finding) -> dict[str, Any]:
    """A finding in the form of --json."""
    # the row has the rule too: `rule` is here so that `family` follows it
    begin = {"rule": finding.rule.id, "family": finding.rule.family}
    return begin | finding_rows.finding_row(finding)


def summary(
    members: Sequence[dict[str, Any]],
    counts: Mapping[Severity, int],
    health: Sequence[dict[str, Any]],
    exit_code: int,
) -> dict[str, Any]:
    """The last line of --json: an object with one field, which no finding has. counts: of the
    findings that decide about the exit code."""
    told = {"checked": len(members), **severity_counts(counts), "exit_code": exit_code}
    return {"summary": {**told, "directories": list(members), "health": list(health)}}


def reaches(counts: Mapping[Severity, int], level: Severity) -> bool:
    """Whether a finding of this severity or worse was found."""
    return any(count and one.rank <= level.rank for one, count in counts.items())


def severity_of(option: str, text: str) -> Severity:
    """The severity of a name, in --json's words or in those of text. option: for the error. Raises
    UsageError for another word."""
    for severity, noun in NOUNS.items():
        if text.lower() in (severity, noun):
            return severity
    raise UsageError(f"{option} {text}: expected note (or info), warning or error")


def counted_by(findings: Sequence[Finding]) -> Counter[Severity]:
    """How many findings there are of each severity."""
    return Counter(finding.severity for finding in findings)


def severity_counts(counts: Mapping[Severity, int]) -> dict[str, int]:
    """The counts in the form of --json: errors, warnings, notes."""
    return {f"{noun}s": counts.get(severity, 0) for severity, noun in NOUNS.items()}
