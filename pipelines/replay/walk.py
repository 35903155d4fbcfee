"""One walk over a part of the agreed branch, which gives all rows that the derived tables need."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pipelines.replay.compared import REPLAYED, Comparing
from pipelines.replay.entries import Entries
from pipelines.replay.history import History
from pipelines.replay.parts import Part, batches_of
from pipelines.replay.written import WRITTEN


def walk(part: Part) -> Iterator[pa.RecordBatch]:
    """The batches of WRITTEN and of REPLAYED of one part."""
    history, comparing = History(part), Comparing(part)
    for step in part.steps():
        if isinstance(step, Entries):
            for record, refusal in history.read(step):
                comparing.refuse(record, refusal)
            comparing.refuse_more(history.refused())
        else:
            history.take(step)
            yield from batches_of(comparing.take(step, history.image), REPLAYED)
        if history.is_full:
            yield from history.taken()
    yield from batches_of(comparing.rest(), REPLAYED)
    yield from history.taken()


COMPARED = "compared"
"""The value of WALKED's column `what` in a row that holds a row of REPLAYED, in the column of that
name."""

_COMPARED = [field for field in REPLAYED if field.name != "cluster_id"]
WALKED = pa.schema([*WRITTEN, (COMPARED, pa.struct(_COMPARED))])
"""The columns of WRITTEN and REPLAYED in one table."""


def walked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of `walk` with the columns of WALKED."""
    if batch.schema.equals(WRITTEN):
        nothing = pa.nulls(batch.num_rows, WALKED.field(COMPARED).type)
        return pa.RecordBatch.from_arrays([*batch.columns, nothing], schema=WALKED)
    cells = [batch.column(field.name) for field in _COMPARED]
    known = {
        "what": pa.repeat(pa.scalar(COMPARED), batch.num_rows),
        "cluster_id": batch.column("cluster_id"),
        COMPARED: pa.StructArray.from_arrays(cells, fields=_COMPARED),
    }
    columns = [known.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in WALKED]
    return pa.RecordBatch.from_arrays(columns, schema=WALKED)
