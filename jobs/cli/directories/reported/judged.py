"""Rows about what rules judge: findings, snapshots, damage, health and exposure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from jobs.cli.directories.reported.given import (
    Capture,
    GivenCluster,
    Round,
    figure,
    replica_of,
    time_of,
)
from pipelines.finding_rows import finding_row, subjects_text
from pipelines.report.evidence import MAX_EXPOSURES, KnownOutages, Outage
from pipelines.report.queries import MAX_DAMAGE, MAX_FINDINGS, MAX_SNAPSHOTS, MAX_SUBJECTS
from pipelines.report.source import Figure, Row
from replica.doctor.check.rule import Finding
from replica.doctor.check.snapshot_validity import SnapshotVerdict, Validity
from replica.doctor.health.exposure import NOTHING, PAIR, exposures, min_isr_unknown
from replica.doctor.health.past import past_of
from replica.doctor.verdict.evidence_of_directories import (
    JudgedCluster,
    names_file_of,
)
from replica.doctor.verdict.old_disks import OLD_DISKS
from replica.format.damage import Damage
from replica.severity import Severity

_SEVERITIES = [one.value for one in sorted(Severity, key=lambda one: one.rank)]
_VALIDITIES = (Validity.INVALID.value, Validity.UNVERIFIABLE.value, Validity.VALID.value)


def figures(given: GivenCluster) -> dict[str, Figure | None]:
    """Fields of Evidence, by name: findings, snapshots, damage, health and exposure."""
    snapshots = sorted(_snapshots(given), key=_worst_first)
    counts = Counter(row["verdict"] for row in snapshots)
    damage = [*_damage(given)]
    return {
        "findings": figure([*_shown(_findings(given))]),
        "snapshots": figure(snapshots, MAX_SNAPSHOTS),
        "snapshot_counts": figure([{"verdict": k, "snapshots": n} for k, n in counts.items()]),
        "damage": figure(damage, MAX_DAMAGE),
        "health": figure([*_health(given.newest.judged)]),
        "exposure": _exposure(given.newest.judged),
    }


def _findings(given: GivenCluster) -> Iterator[Row]:
    """A row for each finding of each capture, those of the newest round first."""
    for each in reversed(given.rounds):
        judged = each.judged
        for member in judged.members:
            owner = replica_of(member.examined)
            is_now = given.replicas.get(owner, (given.newest,))[0] is each
            own = (one.in_file(member.examined.shown_file(one.file)) for one in member.findings)
            # as in a lake, findings about what a voter's disk lacks are those of the newest round
            between = (
                one
                for one in judged.findings
                if names_file_of(one, member)
                and (each is given.newest or one.rule.id not in OLD_DISKS)
            )
            for finding in (*own, *between):
                yield _found(finding, each, asdict(owner), is_now=is_now)
        for finding in judged.findings:
            named = any(names_file_of(finding, member) for member in judged.members)
            if not named and finding.node is not None:
                replica = {"node_id": finding.node, "directory_id": ""}
                yield _found(finding, each, replica, is_now=each is given.newest)


def _found(finding: Finding, each: Round, replica: Row, *, is_now: bool) -> Row:
    return {**finding_row(finding), **replica, "captured_at": each.at, "now": int(is_now)}


def _shown(rows: Iterable[Row]) -> Iterator[Row]:
    """The first rows of each rule, the worst rules first. Each row gets two counts of its rule:
    `findings`, of all captures, and `now`, of each replica's newest capture alone."""
    of_rule: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows:
        of_rule[_SEVERITIES.index(row["severity"]), row["rule"]].append(row)
    for _, found in sorted(of_rule.items()):
        counts = {"findings": len(found), "now": sum(row["now"] for row in found)}
        yield from ({**row, **counts} for row in found[:MAX_FINDINGS])


def _snapshots(given: GivenCluster) -> Iterator[Mapping[str, Any]]:
    """Each snapshot of a replica once. Its verdict is that of the newest round that found it
    invalid, else that of the newest round."""
    found: dict[tuple[Any, ...], list[tuple[Capture, SnapshotVerdict]]] = defaultdict(list)
    for each in reversed(given.rounds):
        for member in each.judged.members:
            capture = each.capture_of(member.examined)
            for verdict in member.verdicts:
                if capture is None:
                    continue
                key = (*capture.row.values(), verdict.id.offset, verdict.id.epoch)
                found[key].append((capture, verdict))
    for held in found.values():
        capture, verdict = min(held, key=lambda one: one[1].validity is not Validity.INVALID)
        file = next(
            one
            for one in capture.examined.directory.snapshots
            if one.id == verdict.id and verdict.path in (one.file.path, "")
        )
        yield {
            **capture.row,
            "end_offset": verdict.id.offset,
            "epoch": verdict.id.epoch,
            "verdict": verdict.validity.value,
            "size_bytes": file.file.size_bytes,
            "record_count": file.content.record_count,
            "last_contained_log_timestamp": time_of(file.content.last_contained_log_timestamp),
            "broken_rules": [*map(finding_row, verdict.broken)],
            "notes": [*map(finding_row, verdict.notes)],
            "seen": len(held),
        }


def _worst_first(row: Row) -> tuple[int, int, int]:
    return _VALIDITIES.index(row["verdict"]), -row["end_offset"], row["node_id"]


def _damage(given: GivenCluster) -> Iterator[Row]:
    return (damage_row(one) for _, each in given.captures for one in each.examined.damages)


def damage_row(one: Damage) -> Row:
    return {
        "file": one.file,
        "position": one.position,
        "length": one.length,
        "kind": one.kind.value,
        "detail": one.detail,
    }


def _health(judged: JudgedCluster) -> Iterator[Row]:
    for finding in judged.health or ():
        yield {**finding_row(finding), "subjects": subjects_text(finding.subjects[:MAX_SUBJECTS])}


def _exposure(judged: JudgedCluster) -> Figure | None:
    """The failures that do harm now: first the state without a further failure, then failures of
    one broker, rack or voter, then those of pairs of brokers. In each group the worst come first.
    None where the state isn't known."""
    cluster = judged.cluster
    if cluster is None:
        return None
    past, unknown = past_of(cluster, judged.steps), min_isr_unknown(cluster)
    rows = []
    for one in exposures(cluster):
        harm = one.harm
        if harm.leaderless or harm.below_min_isr or one.has_majority is False:
            since = past.exposed.get(one.failure)
            rows.append(
                {
                    "kind": one.failure.kind,
                    "gone": ",".join(one.failure.gone),
                    **harm._asdict(),
                    "voters_left": one.voters_left,
                    "has_majority": one.has_majority,
                    "since_offset": since and since.offset,
                    "since_ms": since and since.at,
                    "min_isr_unknown": unknown,
                }
            )
    return figure(sorted(rows, key=_most_harm_first), MAX_EXPOSURES)


def _most_harm_first(row: Row) -> tuple[Any, ...]:
    return (
        {NOTHING: 0, PAIR: 2}.get(row["kind"], 1),
        row["has_majority"] is not False,
        -row["leaderless"],
        -row["below_min_isr"],
        row["kind"],
        row["gone"],
    )


def known_outages(judged: JudgedCluster, fenced_unasked: Collection[int]) -> KnownOutages | None:
    """The outages that the log shows; None where the log can't be replayed. fenced_unasked: the
    times at which brokers were fenced that had not asked for their shutdown."""
    found = judged.outages
    if found is None or judged.cluster is None:
        return None
    told = tuple(
        Outage(
            one.most,
            one.of,
            one.began.at,
            one.most_at,
            None if one.ended is None else one.ended.at,
            one.ended is not None,
            one.began.at in fenced_unasked,
        )
        for one in found.without_leader
    )
    has_partitions = bool(told or judged.cluster.partitions)
    return KnownOutages(told, False, has_partitions, judged.refusals)
