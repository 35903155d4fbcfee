"""Damaged batches that are known undamaged from elsewhere, with the CRC that they have there.

Nobody can tell what a damaged batch held, so the bulk reader shows a keyed CRC for it, as for a
batch with a secret. If the lake, or another file of the round, has the same batch undamaged, it is
known whether the batch holds a secret. Then both are the same row of bronze.log_batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines import delta
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments
from pipelines.bronze.log_ranges import LogRange, log_batch_rows
from pipelines.tables.bronze import LOG_BATCHES
from pipelines.tasks import Tasks
from replica.metadata.redact import Redactor
from replica.scan.compact import column_of

_KEY = ("cluster_id", "base_offset", "leader_epoch", "crc")
_Key = tuple[str, int, int, int]
"""The key of a batch in any log of a cluster."""
OwnCrcs = Mapping[_Key, int]
"""The CRC that a damaged batch has where it is undamaged, by the key that the damaged batch is
shown with."""


def own_crcs(
    lake: delta.Lake,
    captured: Sequence[Captured],
    parts: Sequence[LogRange],
    redactor: Redactor | None,
    tasks: Tasks,
) -> OwnCrcs:
    """The CRCs of the round's damaged batches that are undamaged in the lake, or in one of the
    parts."""
    damaged = set(_damaged(captured))
    if redactor is None or not damaged:
        return {}
    found = _whole_in_lake(lake, damaged)
    for those in tasks.map(partial(_whole_in, damaged=damaged, redactor=redactor), parts):
        found |= those
    return {(*key[:3], redactor.batch_crc(key[1], key[3])): key[3] for key in found}


def with_own_crcs(batches: pa.RecordBatch, own: OwnCrcs) -> pa.RecordBatch:
    """The batches; each damaged one has its CRC from elsewhere."""
    if not own or pc.all(batches.column("crc_valid")).as_py():
        return batches
    keys = zip(*(batches.column(name).to_pylist() for name in _KEY), strict=True)
    valid = batches.column("crc_valid").to_pylist()
    crcs = [
        key[3] if is_valid else own.get(key, key[3])
        for key, is_valid in zip(keys, valid, strict=True)
    ]
    field = batches.schema.field("crc")
    return batches.set_column(
        batches.schema.get_field_index("crc"), field, pa.array(crcs, field.type)
    )


def _whole_in_lake(lake: delta.Lake, damaged: Set[_Key]) -> set[_Key]:
    offsets = [key[1] for key in damaged]
    between = f"crc_valid AND base_offset BETWEEN {min(offsets)} AND {max(offsets)}"
    rows = delta.values(lake, LOG_BATCHES, _KEY, between)
    return {key for row in rows if (key := tuple(row[name] for name in _KEY)) in damaged}


def _whole_in(part: LogRange, *, damaged: Set[_Key], redactor: Redactor) -> set[_Key]:
    found: set[_Key] = set()
    for batch in log_batch_rows(part, redactor):
        whole = batch.filter(batch.column("crc_valid"))
        keys = zip(*(whole.column(name).to_pylist() for name in _KEY), strict=True)
        found.update(key for key in keys if key in damaged)
    return found


def _damaged(captured: Sequence[Captured]) -> Iterator[_Key]:
    """_KEY of each damaged batch, with the CRC in its header."""
    for one, segment in new_segments(captured):
        batches = segment.scan.new_batches
        for number in np.flatnonzero(column_of(batches, "crc_valid") == 0).tolist():
            header = batches[number].header
            cluster = one.look.replica.cluster_id
            yield cluster, header.base_offset, header.leader_epoch, header.crc
