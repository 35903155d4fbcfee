"""gold.findings: the findings of `kraftlake check` on the captures, from all sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.cluster.cluster_tables import ClusterTables
from pipelines.cluster.replica_logs import one_row_per_capture
from pipelines.cluster.rows import Row
from pipelines.finding_rows import finding_row
from pipelines.gold.other_disks import BesideCluster
from pipelines.gold.snapshot_validity import same_snapshot_findings
from pipelines.silver.capture_groups import newest_group
from pipelines.silver.committed_log import AgreedBranch
from pipelines.tables.keys import FINDING_KEYS, covers, replica_of
from replica.doctor.check.catalogue import log
from replica.doctor.check.directory import describe_refusal
from replica.doctor.check.lineage import LogParting, judge_conflict, judge_contested, judge_parting
from replica.doctor.check.rule import Family, Finding
from replica.history.commitment import Losses
from replica.history.divergence import Relation
from replica.history.log import OffsetRange
from replica.metadata.image.replay import Refusal
from replica.model.keys import ReplicaKey

_OF_FILES = {"family": Family.FILES.value, "subjects": None}
_OF_PLACE = ["position", "file", "in_log"]
_NAME = re.compile(r"[^/]+$")


class Judged(NamedTuple):
    """The judgements from which gold.findings is made, in a field for each source."""

    captured: Iterable[Row]
    """The findings that an ingest made of each capture, judged again beside the other logs (the
    result of beside_other_logs)."""
    snapshots: Sequence[Row]
    """The verdicts on snapshots, with the findings that only the replay can make (the result of
    judged_snapshots)."""
    replayed: Sequence[Row]
    """The results of the replay: the rows of Records.compared."""
    health: Sequence[Row]
    """The rows of findings about the cluster's health."""
    stale: Sequence[tuple[str, Finding]]
    """(capture_id, finding) of each voter of the newest group whose directory lacks a vote or
    records that other files prove it had, or whose log ends long before the newest log."""
    emptied: Sequence[Row] = ()
    """The findings about voters whose directories have no metadata log any more (the result of
    emptied_rows)."""


def findings(
    bronze: BronzeRows,
    tables: ClusterTables,
    agreed: AgreedBranch,
    groups: Sequence[Row],
    judged: Judged,
) -> list[Row]:
    """The rows of gold.findings, except the findings between clusters. groups: rows of
    silver.capture_groups, the newest as in Gold.groups.

    A record that can't be applied is a finding of each capture that holds it. A divergence is a
    finding of the replica that would be truncated. A divergence in which neither replica would win
    is a finding of the first of the pair, and a conflict is a finding of both.
    """
    stale = (_worded(tables.cluster_id, *one) for one in judged.stale)
    worded = chain(refused_records(judged.replayed, agreed), _of_groups(groups), stale)
    found = chain(
        judged.captured,
        _of_contents(judged.snapshots),
        _at_batches(_located(worded, bronze.captures), tables),
        same_snapshot_findings(bronze, judged.replayed),
        judged.health,
        judged.emptied,
    )
    return without_repetitions(found)


def emptied_rows(
    found: Iterable[Finding], beside: BesideCluster, newest: Sequence[Row]
) -> list[Row]:
    """The findings of judge_emptied as rows. A row names the capture of the directory that the
    finding is about. If that directory belongs to another cluster, the row names the first of
    `newest` instead. newest: the cluster's newest captures, as rows of bronze.captures."""
    captures = {one.directory.meta_properties: one for one in beside.without_log.values()}
    cluster_id = newest[0]["cluster_id"] if newest else None
    rows = []
    for finding in found:
        of = captures[finding.file]
        about = {**asdict(of.directory.replica), "capture_id": of.capture_id}
        if of.directory.replica.cluster_id != cluster_id:
            about = {name: newest[0][name] for name in about}
        rows.append(about | finding_row(finding))
    return rows


def refused_records(replayed: Iterable[Row], committed: AgreedBranch) -> list[Row]:
    """A finding where the log holds records that can't be applied; otherwise none. replayed: the
    rows of Records.compared."""
    rows = [row for row in replayed if row["content_sha256"] is None and row["refused"] > 0]
    first = min((row["first_refused"] for row in rows), key=itemgetter("offset"), default=None)
    epoch = None if first is None else committed.epoch_at(first["offset"])
    if first is None or epoch is None:
        return []
    message = describe_refusal(Refusal(**first), sum(row["refused"] for row in rows))
    found = log.UNAPPLIABLE_RECORD.at("", message, offset=first["offset"], epoch=epoch)
    return [_worded(committed.cluster_id, None, found)]


def _of_contents(judged: Iterable[Row]) -> Iterator[Row]:
    """The findings about snapshots that only the replay can make."""
    for row in judged:
        for found in row["content_findings"]:
            yield {**row, **found}


def _located(worded: Iterable[Row], captures: Iterable[Row]) -> Iterator[Row]:
    """Each finding once for each capture that it may be about, with that capture's place."""
    rows = one_row_per_capture(captures)
    names = ("node_id", "directory_id", "capture_id", "captured_at", "source")
    for found in worded:
        for capture in rows:
            if found["capture_id"] in (None, capture["capture_id"]):
                yield {**found, **{name: capture[name] for name in names}}


def _at_batches(located: Iterable[Row], tables: ClusterTables) -> Iterator[Row]:
    """The findings with the file and the byte of the batch that holds their offset in the capture's
    log. A finding without an offset stays as it is; one whose offset is in no batch of the log is
    left out."""
    for found in located:
        if found["offset"] is None:
            yield found
        else:
            held = tables.batches_at(replica_of(found), found["epoch"], found["offset"])
            for row in held.select(_OF_PLACE).to_pylist():
                if any(covers(span, found["captured_at"]) for span in row["in_log"]):
                    name = _NAME.search(row["file"])
                    file = f"{found['source']}/{name.group() if name else ''}"
                    yield {**found, "position": row["position"], "file": file}


def without_repetitions(found: Iterable[Row]) -> list[Row]:
    """The first of the rows with each key, with all of the table's columns."""
    rows: dict[tuple[Any, ...], Row] = {}
    for one in found:
        key = tuple(one[name] for name in FINDING_KEYS)
        rows.setdefault(key, _OF_FILES | one)
    return list(rows.values())


def _of_groups(groups: Sequence[Row]) -> Iterator[Row]:
    """The findings on rows of group_findings. A directory that didn't change is one capture of
    several rounds. Where the newest round is one of them, only its comparison counts: an older one
    compares with logs that have changed since."""
    newest = newest_group(groups)
    told = {one["capture_id"] for row in groups if row["capture_group"] == newest
            for one in row["progress"]}  # fmt: skip
    for group in groups:
        for found in _of_group(group):
            if group["capture_group"] == newest or found["capture_id"] not in told:
                yield found


def _of_group(group: Row) -> Iterator[Row]:
    """The findings on a row of group_findings, in the form of _worded. Of that row the columns
    cluster_id, pairs and contested are used."""
    cluster_id = group["cluster_id"]
    for capture_id, found in _of_pairs(group["pairs"]):
        yield _worded(cluster_id, capture_id, found)
    for contested in group["contested"]:
        offsets = OffsetRange(contested["start"], contested["end"])
        found = judge_contested(offsets, contested["epoch"])
        yield _worded(cluster_id, contested["capture_id"], found)


def _of_pairs(rows: list[Row]) -> Iterator[tuple[str, Finding]]:
    """(capture_id, finding) of the conflicts, then of the divergences. Where one log conflicts
    with, or diverges from, several others in the same way, this is one finding."""
    partings: dict[tuple[str, LogParting], list[int]] = {}
    conflicts: dict[tuple[str, int, int], list[int]] = {}
    for row in rows:
        if row["relation"] == Relation.CONFLICT.value:
            for one, other in (("a", "b"), ("b", "a")):
                place = row[f"capture_{one}"], row["divergence_offset"], row[f"epoch_{one}"]
                conflicts.setdefault(place, []).append(row[f"node_{other}"])
        if row["relation"] != Relation.DIVERGED.value:
            continue
        a, b = ("a", "b") if row["truncating_node"] != row["node_b"] else ("b", "a")
        parting = _parting(row, a, b)
        partings.setdefault((row[f"capture_{a}"], parting), []).append(row[f"node_{b}"])
    for (capture_id, offset, epoch), others in conflicts.items():
        yield capture_id, judge_conflict(offset, epoch, others)
    for (capture_id, parting), others in partings.items():
        for found in judge_parting(parting, others):
            yield capture_id, found


def _parting(row: Row, loser: str, winner: str) -> LogParting:
    lost = None
    if row["truncating_node"] is not None:
        names = ("committed_lost", "unproven_lost", "superseded_lost")
        lost = Losses(*(row[name] for name in names))
    return LogParting(
        ReplicaKey(row[f"node_{loser}"], row[f"directory_{loser}"]),
        row["divergence_offset"],
        row[f"epoch_{loser}"],
        row[f"epoch_{winner}"],
        row["truncation_offset"],
        row["records_lost"],
        lost,
        row.get("if_stopped", False),
    )


def _worded(cluster_id: str, capture_id: str | None, found: Finding) -> Row:
    """A finding that lacks its file and position. capture_id: None where each capture may hold the
    record."""
    return {"cluster_id": cluster_id, "capture_id": capture_id, **finding_row(found)}
