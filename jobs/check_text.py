"""Findings in words, for `kraftlake check`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from jobs.log_range import log_range
from jobs.output import coloured, counted, one_line
from replica.check.examined import Examined
from replica.check.group import Judged
from replica.check.rule import Finding
from replica.types import Severity

SHOWN_PLACES = 10
"""Places of one rule that are listed; --json lists all."""
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def describe_member(member: Judged, shown: Sequence[Finding]) -> Iterator[str]:
    """A verdict line, and the findings below it by rule; shown: those to print."""
    examined = member.examined
    verdict = _verdict(member.findings)
    yield f"{one_line(examined.shown)}: {verdict} ({_who(examined)}{_snapshots(member)})"
    folder = _folder(examined)
    yield from _by_rule(shown, folder)


def describe_group(
    title: str, findings: Sequence[Finding], shown: Sequence[Finding]
) -> Iterator[str]:
    """The same for findings that belong to no directory; without a title, no verdict line."""
    if title:
        yield f"{title}: {_verdict(findings)}"
    yield from _by_rule(shown, "")


def describe_counts(directories: int, counts: Mapping[Severity, int]) -> str:
    """The last line."""
    told = ", ".join(counted(counts[severity], _NOUNS[severity]) for severity in _NOUNS)
    what = "1 directory or file" if directories == 1 else f"{directories} directories or files"
    return f"{what} checked: {told}"


def _verdict(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    bad = [severity for severity in (Severity.ERROR, Severity.WARNING) if counts[severity]]
    if not bad:
        return coloured("sound", "green")
    return ", ".join(
        coloured(counted(counts[severity], _NOUNS[severity]), _COLOURS[severity])
        for severity in bad
    )


def _who(examined: Examined) -> str:
    directory, replica = examined.directory, examined.replica
    who = "whose it is unknown, " if examined.is_directory else ""
    if replica is not None:
        who = f"node {replica.node_id}, "
    batches = [segment.scan.batches for segment in directory.segments if segment.scan.batches]
    if not batches:
        return f"{who}no log"
    epoch = batches[-1][-1].header.leader_epoch
    start, end = directory.log_start_offset, directory.log_end_offset
    return f"{who}{log_range(start, directory.first_offset, end)}, epoch {epoch}"


def _snapshots(member: Judged) -> str:
    counts = Counter(str(verdict.validity) for verdict in member.verdicts)
    if not counts:
        return ""
    return ", snapshots: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _by_rule(findings: Sequence[Finding], folder: str) -> Iterator[str]:
    for rule, group in groupby(findings, key=lambda finding: finding.rule):
        places = list(group)
        name = coloured(f"{_NOUNS[rule.severity]:<7}", _COLOURS[rule.severity])
        yield f"  {name}  {rule.id}: {rule.meaning}"
        for finding in places[:SHOWN_PLACES]:
            yield one_line(f"           {_place(finding, folder)}: {finding.message}")
        if len(places) > SHOWN_PLACES:
            yield f"           ... and {len(places) - SHOWN_PLACES} more; --json lists all"
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
    """What is left out of file names below a directory's line."""
    return os.path.join(examined.shown, "") if examined.is_directory else ""
