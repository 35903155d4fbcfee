"""Findings of `kraftlake check` in words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from jobs.directories.check_verdict import (
    NOUNS,
    CheckVerdict,
    counted_by,
    last_epoch,
    validities,
    verdict_of,
)
from jobs.directories.offsets_text import log_range
from jobs.output import coloured, counted, one_line
from replica.check.examined import Examined
from replica.check.group import JudgedDirectory
from replica.check.rule import Finding, Rule
from replica.severity import Severity

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
    """The same for findings that belong to no directory. Without a title there is no line with a
    verdict."""
    if title and shown:
        yield f"{title}: {severities(shown) or _sound()}"
    yield from _by_rule(shown, "")


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
            alone = "" if member.examined.is_directory else " in this file alone"
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
        yield "whose it is unknown"
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
