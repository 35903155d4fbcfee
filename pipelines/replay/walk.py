"""One walk over a part of the agreed branch, which gives all rows that the derived tables need."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pipelines.replay.compared import REPLAYED, Comparing
from pipelines.replay.entries import Entries
from pipelines.replay.history import History
from pipelines.replay.parts import Part, batches_of


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
