"""Findings of `kraftlake check`, in words and as JSON; its verdicts on directories and files, and
on a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any

from jobs.cli.directories.offsets_text import log_range
from jobs.cli.output import coloured
from pipelines import finding_rows
from replica.check.examined import Examined
from replica.check.group import JudgedDirectory, LookedAtQuorum
from replica.check.rule import Finding, Rule
from replica.check.snapshots import Validity
from replica.errors import UsageError
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.severity import Severity
from replica.terminal_text import one_line
from replica.words import counted

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
    for verdict in (CheckVerdict.ERROR, CheckVerdict.WARNING):
        if Severity(verdict) in found:
            return verdict
    judged = all(one.validity is Validity.VALID for one in member.verdicts)
    whole = member.examined.is_complete and member.partition.is_metadata and judged
    return CheckVerdict.SOUND if whole else CheckVerdict.NO_FAULT_FOUND


def last_epoch(examined: Examined) -> int | None:
    """The leader epoch of the log's last batch, None for a log without one."""
    last = examined.last_batch
    return None if last is None else last.header.leader_epoch


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
    quorums: Sequence[dict[str, Any]],
    exit_code: int,
) -> dict[str, Any]:
    """The last line of --json: an object with one field, which no finding has. counts: how many
    findings of each severity decide about the exit code."""
    told = {"checked": len(members), **severity_counts(counts), "exit_code": exit_code}
    clusters = {"health": list(health), "quorums": list(quorums)}
    return {"summary": {**told, "directories": list(members), **clusters}}


def quorum_summary(quorum: LookedAtQuorum) -> dict[str, Any]:
    """The quorum of a cluster in the summary of --json."""
    return {
        "cluster_id": quorum.cluster_id,
        "voters": [_voter_row(voter) for voter in sorted(quorum.voters)],
        "not_checked": [_voter_row(voter) for voter in sorted(quorum.missing)],
    }


def _voter_row(voter: ReplicaKey) -> dict[str, Any]:
    directory_id = None if voter.directory_id == ZERO_UUID else voter.directory_id
    return {"node_id": voter.node_id, "directory_id": directory_id}


def reaches(counts: Mapping[Severity, int], level: Severity) -> bool:
    """Whether a finding of this severity or worse was found."""
    return any(count and one.rank <= level.rank for one, count in counts.items())


def severity_of(option: str, text: str) -> Severity:
    """The severity that a word of the user means, such as note or warning. --json has words of its
    own for severities, which are understood too. option: the option's name, for the message. Raises
    UsageError for an unknown word."""
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


SHOWN_PLACES = 10
"""How many places of one rule are listed. --json lists all."""
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def describe_member(
    member: JudgedDirectory, shown: Sequence[Finding], least: Severity
) -> Iterator[str]:
    """A line with the verdict, and the findings below it by rule. shown: the findings to print, of
    the severity `least` or worse."""
    examined = member.examined
    facts = ", ".join((*_who(member), _log(examined), *_snapshots(member)))
    yield f"{one_line(examined.shown)}: {_verdict(member, shown, least)} ({facts})"
    yield from _by_rule(shown, _folder(examined))


def describe_group(title: str, shown: Sequence[Finding]) -> Iterator[str]:
    """A line with the verdict on findings that belong to no directory, and the findings below it by
    rule. Without a title there is no line with a verdict."""
    if title and shown:
        yield f"{title}: {severities(shown) or _sound()}"
    yield from _by_rule(shown, "")


def describe_missing_voters(quorum: LookedAtQuorum) -> str:
    """A line that says which voters were not checked. A voter whose node is there with another
    directory has its directory id."""
    *others, last = (
        f"{voter.node_id} (directory {voter.directory_id})"
        if voter.node_id in quorum.nodes
        else str(voter.node_id)
        for voter in sorted(quorum.missing)
    )
    named = f"directory of node {last}"
    if others:
        named = f"directories of nodes {', '.join(others)} and {last}"
    count = len(quorum.voters)
    seen = coloured(f"{count - len(quorum.missing)} of {count} checked", "yellow")
    told = f"voters of {one_line(quorum.cluster_id)}: {seen}; give the {named} too"
    return f"{told}, for a divergence shows only between logs"


def describe_counts(directories: int, counts: Mapping[Severity, int], least: Severity) -> str:
    """The last line of the output."""
    what = "1 directory or file" if directories == 1 else f"{directories} directories or files"
    shown = [severity for severity in NOUNS if severity.rank <= least.rank]
    told = ", ".join(counted(counts[severity], NOUNS[severity]) for severity in shown)
    hidden = [one for one in NOUNS if one not in shown and counts[one]]
    if hidden:
        told += "; not shown: " + ", ".join(counted(counts[one], NOUNS[one]) for one in hidden)
    return f"{what} checked: {told}"


def _verdict(member: JudgedDirectory, shown: Sequence[Finding], least: Severity) -> str:
    """The line with the verdict. It counts the worst findings that are shown. A directory isn't
    called sound where a finding above a note isn't shown."""
    bad = severities(shown)
    if bad:
        return bad
    match verdict_of(member):
        case CheckVerdict.SOUND:
            return _sound()
        case CheckVerdict.NO_FAULT_FOUND:
            what = "fragment of a log" if member.examined.directory.is_fragment else "file"
            alone = "" if member.examined.is_directory else f" in this {what} alone"
            if member.examined.is_directory and not member.examined.is_complete:
                alone = " in this incomplete copy"
            return coloured(f"no fault found{alone}", "green")
        case _:
            return f"no {NOUNS[least]}s"


def _sound() -> str:
    return coloured("sound", "green")


def severities(findings: Sequence[Finding]) -> str:
    """The numbers of errors and warnings; "" where there are none."""
    counts = counted_by(findings)
    return ", ".join(
        coloured(counted(counts[severity], NOUNS[severity]), _COLOURS[severity])
        for severity in (Severity.ERROR, Severity.WARNING)
        if counts[severity]
    )


def _who(member: JudgedDirectory) -> Iterator[str]:
    replica = member.examined.replica
    if replica is not None:
        yield f"cluster {replica.cluster_id}"
        yield f"node {replica.node_id}"
    elif member.examined.is_directory:
        yield "owner unknown"
    if member.role is not None:
        yield str(member.role)
    if not member.partition.is_metadata and member.examined.is_directory:
        yield f"partition {member.partition.name}"


def _log(examined: Examined) -> str:
    directory, epoch = examined.directory, last_epoch(examined)
    if epoch is None:
        return "no log"
    start, end = directory.log_start_offset, directory.log_end_offset
    return f"{log_range(start, directory.first_offset, end)}, epoch {epoch}"


def _snapshots(member: JudgedDirectory) -> Iterator[str]:
    counts = validities(member)
    if counts:
        yield "snapshots: " + ", ".join(f"{count} {name}" for name, count in counts.items())


def _by_rule(findings: Sequence[Finding], folder: str) -> Iterator[str]:
    for rule, group in groupby(findings, key=lambda finding: finding.rule):
        found = list(group)
        places = [f"{_place(one, folder)}: {one.message}" for one in found[:SHOWN_PLACES]]
        if len(found) > SHOWN_PLACES:
            places.append(f"... and {len(found) - SHOWN_PLACES} more; --json lists all")
        yield from described_rule(rule, places)


def described_rule(rule: Rule, places: Iterable[str]) -> Iterator[str]:
    """A rule with findings: its meaning, the places and, unless it is a note, what to do."""
    name = coloured(f"{NOUNS[rule.severity]:<7}", _COLOURS[rule.severity])
    yield f"  {name}  {rule.id}: {rule.meaning}"
    for place in places:
        yield one_line(f"           {place}")
    if rule.severity is not Severity.INFO:
        yield f"           Kafka: {rule.kafka}"
        yield f"           Next:  {rule.next_step}"


def _place(finding: Finding, folder: str) -> str:
    parts = [finding.file.removeprefix(folder) or "."]
    if finding.position is not None:
        parts.append(f"byte {finding.position}")
    if finding.offset is not None:
        parts.append(f"offset {finding.offset}")
    return ", ".join(parts)


def _folder(examined: Examined) -> str:
    """The folder that file names below a directory's line omit."""
    return os.path.join(examined.shown, "") if examined.is_directory else ""
