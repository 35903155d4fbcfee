"""gold.findings: what `kraftlake check` says of the captures, of all sources in one table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from pipelines.gold.rules.lineage import of_group, refusal
from pipelines.in_memory.batches import Batches
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.committed import AgreedBranch
from pipelines.in_memory.held import covers, one_row_per_capture
from pipelines.in_memory.rows import Row
from pipelines.in_memory.snapshots import same_snapshot_findings
from pipelines.tables.keys import FINDING_KEYS, replica_of
from replica.check.rule import Family

_COLUMNS = (
    "rule", "severity", "cluster_id", "node_id", "directory_id", "file",
    "position", "offset", "epoch", "message", "capture_id", "family", "subjects",
)  # fmt: skip
_OF_FILES = {"family": Family.FILES.value, "subjects": None}
_OF_PLACE = ("position", "file", "in_log")
_NAME = re.compile(r"[^/]+$")


def findings(
    bronze: BronzeRows,
    judged: Sequence[Row],
    replayed: Sequence[Row],
    committed: AgreedBranch,
    groups: Iterable[Row],
    of_health: Iterable[Row] = (),
) -> list[Row]:
    """The rows of gold.findings, except the findings between clusters.

    judged: from judged_snapshots. replayed: a Records' `compared`. groups: from group_findings.
    of_health: from health.

    A record that can't be applied is a finding of each capture that holds it. A divergence is a
    finding of the replica that would be truncated. A conflict, and a divergence in which neither
    replica would win, is a finding of the first of the pair.
    """
    worded = chain(map(refusal, refused_records(replayed, committed)), *map(of_group, groups))
    found = chain(
        bronze.found,
        _of_contents(judged),
        _at_batches(_located(worded, bronze.captures), bronze.batches),
        same_snapshot_findings(bronze, replayed),
        of_health,
    )
    return without_repetitions(found)


def refused_records(replayed: Iterable[Row], committed: AgreedBranch) -> list[Row]:
    """One row where the log holds records that can't be applied, otherwise none: cluster_id,
    refused (how many), first_refused (dict: offset, record_type, reason, because) and its
    leader_epoch.

    replayed: a Replayed's `compared`.
    """
    rows = [row for row in replayed if row["content_sha256"] is None and row["refused"] > 0]
    first = min((row["first_refused"] for row in rows), key=itemgetter("offset"), default=None)
    entry = None if first is None else committed.entry(first["offset"])
    if entry is None:
        return []
    what = {"refused": sum(row["refused"] for row in rows), "first_refused": first}
    return [{"cluster_id": committed.cluster_id, **what, "leader_epoch": entry["leader_epoch"]}]


def _of_contents(judged: Iterable[Row]) -> Iterator[Row]:
    """What the replay adds to bronze's findings on snapshots."""
    for row in judged:
        for found in row["content_findings"]:
            yield {**row, **found}


def _located(worded: Iterable[Row], captures: Iterable[Row]) -> Iterator[Row]:
    """Each finding with the captures that it may be about, and their places."""
    looks = one_row_per_capture(captures)
    names = ("node_id", "directory_id", "capture_id", "captured_at", "source")
    for found in worded:
        for look in looks:
            if found["capture_id"] in (None, look["capture_id"]):
                yield {**found, **{name: look[name] for name in names}}


def _at_batches(located: Iterable[Row], batches: Batches) -> Iterator[Row]:
    """The findings with file and byte of the batch that holds their offset in the capture's log."""
    for found in located:
        if found["offset"] is not None:
            for place in batches.at_offset(replica_of(found), found["epoch"], found["offset"]):
                row = {name: batches.told[name][place].as_py() for name in _OF_PLACE}
                if any(covers(span, found["captured_at"]) for span in row["in_log"]):
                    name = _NAME.search(row["file"])
                    file = f"{found['source']}/{name.group() if name else ''}"
                    yield {**found, "position": row["position"], "file": file}


def without_repetitions(found: Iterable[Row]) -> list[Row]:
    """The first row of each key, in the table's columns."""
    rows: dict[tuple[Any, ...], Row] = {}
    for one in found:
        key = tuple(one[name] for name in FINDING_KEYS)
        rows.setdefault(key, {name: (_OF_FILES | one)[name] for name in _COLUMNS})
    return list(rows.values())
