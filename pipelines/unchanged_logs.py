"""Finds, for each changed cluster, the part of its logs that no ingest has changed since the build
before. A build need not judge that part again, nor fold its batches into runs.

An ingest adds data files, and at times joins small ones. It replaces rows only where a capture
contradicts or ends what earlier ones showed: a log was truncated or its head deleted, a capture is
older than others, captures were forgotten. A cluster of which a file was replaced has no such part:
it is derived from all its rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deltalake.exceptions import DeltaError

from pipelines.changed_clusters import ChangedClusters, DataFile, files_of
from pipelines.delta.committing import COMPACTED
from pipelines.quality.judge import Judgement
from pipelines.stages.pins import Pins
from pipelines.tables import bronze
from pipelines.tables.contract import Contract

LEAST_RECORDS = 5_000
"""A cluster with fewer records is derived from all of its records, together with other clusters."""
_LOGS = (bronze.LOG_BATCHES, bronze.LOG_RECORDS)
JUDGED = (*_LOGS, bronze.SNAPSHOT_RECORDS)
"""The tables whose unchanged part isn't judged again."""
_NO_END = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Stayed:
    """The part of a cluster's logs and snapshots that has not changed since the last build."""

    base_offset: int
    """The batches that begin below this offset have not changed, and neither have their records."""
    end_offset: int
    """The records of the snapshots that end below this offset have not changed."""


def stayed_parts(clusters: ChangedClusters) -> dict[str, Stayed]:
    """By cluster_id, the part of each changed cluster that has not changed; a cluster without such
    a part is left out."""
    before = clusters.before
    if before is None:
        return {}
    earlier = Pins(clusters.pins.lake, {one.name: before.tables[one.name][1] for one in JUDGED})
    try:
        seen = {one: files_of(earlier, one) for one in JUDGED}
    except DeltaError:  # the log's entries of that version were deleted
        return {}
    added: dict[str, list[DataFile]] = {}
    gone: list[DataFile] = []
    for contract in JUDGED:
        files = files_of(_with_same_rows(clusters.pins, contract), contract)
        known, names = {one.name for one in seen[contract]}, {one.name for one in files}
        added[contract.name] = [one for one in files if one.name not in known]
        gone += [one for one in seen[contract] if one.name not in names]
    odd = {one.cluster_id for one in before.judgements if not one.is_unbroken and _is_judged(one)}
    of_logs = [file for one in _LOGS for file in added[one.name]]
    return {
        one: Stayed(_first(of_logs, one), _first(added[bronze.SNAPSHOT_RECORDS.name], one))
        for one in clusters.changed
        if one in before.clusters
        and one not in odd
        and clusters.sizes[one].records >= LEAST_RECORDS
        and not any(file.may_hold(one) for file in gone)
    }


def _with_same_rows(pins: Pins, contract: Contract) -> Pins:
    """Pins with the same rows of the table. If the newest commit of the table only joined files,
    the table is pinned at the version before this commit; otherwise the pins are unchanged."""
    version = pins.versions[contract.name]
    for commit in pins.table(contract.name).history(1):
        if commit["version"] == version and COMPACTED.items() <= commit.items():
            return Pins(pins.lake, {contract.name: version - 1})
    return pins


def _is_judged(judgement: Judgement) -> bool:
    return judgement.table in {one.name for one in JUDGED}


def _first(files: Iterable[DataFile], cluster_id: str) -> int:
    """The least offset of the files that may have rows of the cluster."""
    return min((one.first for one in files if one.may_hold(cluster_id)), default=_NO_END)
