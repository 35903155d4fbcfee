"""The agreed branch of small clusters replayed in this process.

Each cluster is one part, walked by the same functions that the tasks of pipelines.large call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from pipelines.in_memory.plan import PlannedContent, plans_of
from pipelines.in_memory.rows import Row, microseconds
from pipelines.replay.compared import REPLAYED
from pipelines.replay.entries import batches_of_rows
from pipelines.replay.parts import OF_LOG, OF_TAIL, SOURCE_OF_SNAPSHOT, Part
from pipelines.replay.plan import CONTENT_IDS
from pipelines.replay.stored import KNOWN_CONTROL, SPREAD, STATEFUL_CONTROL
from pipelines.replay.walk import walk
from pipelines.replay.written import WRITTEN
from replica.metadata.image import BROADCAST, KEY_FIELDS
from replica.metadata.variant_reader import decode_variant, variant_json

_Placed: TypeAlias = tuple[Any, ...]
"""A row of SPREAD, its time in microseconds."""

_Ids: TypeAlias = tuple[str, int, int, str]
"""Values of CONTENT_IDS."""

_ORDER = itemgetter(*map(SPREAD.names.index, ("position", "source", "offset")))
_STATEFUL = frozenset({*KEY_FIELDS, *BROADCAST})
_IDS = itemgetter(*CONTENT_IDS)


@dataclass(frozen=True)
class Replayed:
    """The results of one walk over the agreed branch. written: WRITTEN, what each record of it, and
    of the branches that lost, changes. compared: rows of REPLAYED, the snapshots beside it, and
    which of its records can't be applied."""

    written: pa.Table
    compared: list[Row]


def replayed(
    branch: Sequence[Row],
    snapshots: Iterable[Row],
    snapshot_records: Sequence[Row],
    tails: Iterable[Row] = (),
) -> Replayed:
    """A record that this release doesn't know is a hole in the log: behind it no state is the whole
    truth. No replay begins with a snapshot that holds such a record.

    branch: rows of the agreed branch; tails: of branches that lost, each with position, tail_id and
    commitment; the others bronze's.
    """
    known = [row for row in branch if not is_unknown(row)]
    times = _times_of(snapshots)
    contents = {(ids[0], ids[3]) for ids in times}
    mine = [
        row for row in snapshot_records if (row["cluster_id"], row["content_sha256"]) in contents
    ]
    partial = {row["content_sha256"] for row in mine if is_unknown(row)}
    planned = (PlannedContent(*ids, at, ids[3] not in partial) for ids, at in times.items())
    plans = plans_of(branch, known, planned)
    rows: defaultdict[str, list[_Placed]] = defaultdict(list)
    for placed in (*_of_log(known), *_of_snapshots(mine, times), *_of_tails(tails)):
        rows[placed[0]].append(placed)
    batches: list[pa.RecordBatch] = []
    for cluster_id, plan in plans.items():
        ordered = sorted(rows[cluster_id], key=_ORDER)
        batches += walk(Part(cluster_id, 0, 1, plan, batches_of_rows(ordered)))
    written, compared = (
        pa.Table.from_batches([one for one in batches if one.schema.equals(kind)], kind)
        for kind in (WRITTEN, REPLAYED)
    )
    return Replayed(written, compared.to_pylist())


def is_unknown(row: Row) -> bool:
    """Whether a row of bronze's records has an api key, version or control type that this release
    doesn't know (see json_text and UnknownControl)."""
    if row["is_control"]:
        return row["record_type"] not in KNOWN_CONTROL
    payload = row["payload"]
    if payload is None or b"apiKey" not in payload["metadata"]:
        return False
    plain = decode_variant(payload["value"], payload["metadata"])
    return isinstance(plain, dict) and plain.get("apiKey") is not None


def _times_of(snapshots: Iterable[Row]) -> dict[_Ids, int | None]:
    """The ids of whole snapshots, with the time of the last record that each contains."""
    latest: dict[_Ids, int | None] = {}
    for row in snapshots:
        if row["is_whole"]:
            ids, at = _IDS(row), microseconds(row["last_contained_log_timestamp"])
            seen = (one for one in (latest.get(ids), at) if one is not None)
            latest[ids] = max(seen, default=None)
    return latest


def _of_log(known: Iterable[Row]) -> Iterator[_Placed]:
    for row in known:
        if _has_state(row):
            offset = row["offset"]
            yield _placed(row, offset, OF_LOG, offset, row["leader_epoch"], row["commitment"])


def _of_snapshots(records: Iterable[Row], wanted: Iterable[_Ids]) -> Iterator[_Placed]:
    """The records of each wanted id, each once, from any replica's snapshot."""
    contents: defaultdict[tuple[str, str], dict[int, Row]] = defaultdict(dict)
    for row in records:
        contents[row["cluster_id"], row["content_sha256"]].setdefault(row["index"], row)
    for cluster_id, end_offset, epoch, content_sha256 in wanted:
        source = SOURCE_OF_SNAPSHOT % (epoch, content_sha256)
        for index, row in contents[cluster_id, content_sha256].items():
            if _has_state(row):
                yield _placed(row, end_offset, source, index, epoch, None)


def _of_tails(tails: Iterable[Row]) -> Iterator[_Placed]:
    for row in tails:
        if _has_state(row):
            source = OF_TAIL + row["tail_id"]
            place = row["position"], source, row["offset"]
            yield _placed(row, *place, row["leader_epoch"], row["commitment"])


def _has_state(row: Row) -> bool:
    """Whether a replay applies the record, or must know that it is there."""
    if row["is_control"]:
        return row["record_type"] in STATEFUL_CONTROL and row["value"] is not None
    return row["record_type"] in _STATEFUL or is_unknown(row)


def _placed(
    row: Row,
    position: int,
    source: str,
    offset: int,
    leader_epoch: int,
    commitment: str | None,
) -> _Placed:
    payload = None
    if row["value"] is None and row["payload"] is not None:
        payload = variant_json(row["payload"]["value"], row["payload"]["metadata"])
    where = row["cluster_id"], 0, position, source, offset
    when = microseconds(row["timestamp"]), leader_epoch, commitment
    what = row["is_control"], row["record_type"], row["record_version"], payload, row["value"]
    return (*where, *when, *what)
