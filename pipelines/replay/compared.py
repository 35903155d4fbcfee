"""Every snapshot beside the agreed branch and beside those of its id, and the records that the
branch refuses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any

import pyarrow as pa

from pipelines.replay.parts import Begin, Content, End, Entry, Part, Step, batches_of
from replica.check.snapshots import KIND_ORDER, Differing, compare_images
from replica.metadata.image import Difference, Image, Refusal, Replay

SAMPLE = 20
"""Differences of one snapshot that are kept with their values."""

_DIFFERENCE = pa.struct(
    [
        ("place", pa.int32()),
        *((name, pa.string()) for name in ("entity", "key", "in_snapshot", "in_log")),
    ]
)
_REFUSAL = pa.struct(
    [
        ("offset", pa.int64()),
        ("record_type", pa.string()),
        ("reason", pa.string()),
        ("because", pa.list_(pa.int64())),
    ]
)
REPLAYED = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("base_offset", pa.int64()),
        ("end_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("content_sha256", pa.string()),
        ("against_sha256", pa.string()),
        ("different", pa.int64()),
        ("orphans", pa.int64()),
        ("dropped", pa.int64()),
        *((name, pa.list_(_DIFFERENCE)) for name in ("sample", "explained_sample")),
        ("refused", pa.int64()),
        ("first_refused", _REFUSAL),
    ]
)
"""What one part of a replay says of a snapshot, or, with content_sha256 and epoch NULL, of a run of
the log from base_offset to end_offset (exclusive).

against_sha256: the other content of one id with which the snapshot is compared, NULL where it is
the log. refused: records that can't be applied. orphans, dropped: see check.snapshots.Differing.
sample: the first of the other differences (place: see KIND_ORDER); explained_sample: the first
orphans and dropped ones, of two contents.
"""

COUNTS = ("different", "orphans", "dropped", "refused")
SNAPSHOT_IDS = ("cluster_id", "end_offset", "epoch", "content_sha256")


def compared_by(part: Part) -> Iterator[pa.RecordBatch]:
    """REPLAYED of one part."""
    comparing = Comparing(part)
    rows = (row for step in part.steps() for row in comparing.take(step))
    return batches_of(chain(rows, comparing.rest()), REPLAYED)


class Comparing:
    """Tells of the steps of one part, which it is given in their order, rows of REPLAYED."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._run: _RunReplay | None = None
        self._same_id: list[Content] = []

    def take(self, step: Step) -> Iterator[dict[str, Any]]:
        """The rows that this step completes; to be read before the next step is taken."""
        for row in self._take(step):
            yield {"cluster_id": self._part.cluster_id} | row

    def rest(self) -> Iterator[dict[str, Any]]:
        """The rows that the end of the steps completes."""
        for row in _of_contents(self._part, self._same_id):
            yield {"cluster_id": self._part.cluster_id} | row

    def _take(self, step: Step) -> Iterator[dict[str, Any]]:
        run = self._run
        if isinstance(step, Entry):
            assert run is not None
            run.apply(step)
        elif isinstance(step, Begin):
            self._run = _RunReplay(self._part, step)
        elif isinstance(step, Content):
            if run is not None and step.snapshot.is_on_branch:
                yield run.about() | _of_snapshot(self._part, step, run.image())
            if self._same_id and self._same_id[0].snapshot[:2] != step.snapshot[:2]:
                yield from _of_contents(self._part, self._same_id)
                self._same_id = []
            self._same_id.append(step)
        elif isinstance(step, End):
            assert run is not None
            yield run.about() | run.refusals(step.run.end)
            self._run = None


class _RunReplay:
    """A run from its beginning on, and which of its records that the part owns can't be applied."""

    def __init__(self, part: Part, begin: Begin) -> None:
        self._part = part
        self._begin = begin
        self._replay = Replay(begin.image)
        self._first: Refusal | None = None
        self._refused = 0

    def apply(self, entry: Entry) -> None:
        refusal = self._replay.apply(entry.offset, entry.record)
        if refusal is not None and self._part.owns_record(entry.record):
            self._refused += 1
            self._first = self._first or refusal

    def image(self) -> Image:
        return self._replay.image()

    def about(self) -> dict[str, Any]:
        return {"base_offset": self._begin.run.base_offset}

    def refusals(self, end: int) -> dict[str, Any]:
        first = None if self._first is None else self._first._asdict()
        return {"end_offset": end, "refused": self._refused, "first_refused": first}


def _of_contents(part: Part, contents: list[Content]) -> Iterator[dict[str, Any]]:
    """Each two contents of one id, as far as this part's keys go."""
    for one, other in combinations(contents, 2):
        found = _owned(part, one.image, other.image)
        yield {
            "end_offset": one.snapshot.end_offset,
            "epoch": one.snapshot.epoch,
            "content_sha256": one.snapshot.content_sha256,
            "against_sha256": other.snapshot.content_sha256,
            **_counted(found),
            "explained_sample": [_row(one) for one in (*found.orphans, *found.dropped)[:SAMPLE]],
            "refused": one.refused + other.refused,
        }


def _owned(part: Part, a: Image, b: Image) -> Differing:
    """compare_images of this part's keys; other keys are judged in theirs."""
    found = compare_images(a, b)
    orphans, dropped, others = (
        [one for one in differing if part.owns(one.kind, one.key)]
        for differing in (found.orphans, found.dropped, found.others)
    )
    return Differing(orphans, dropped, others)


def _counted(found: Differing) -> dict[str, Any]:
    return {
        "different": len(found.others),
        "orphans": len(found.orphans),
        "dropped": len(found.dropped),
        "sample": [_row(one) for one in found.others[:SAMPLE]],
    }


def _of_snapshot(part: Part, held: Content, replay: Image) -> dict[str, Any]:
    return {
        "end_offset": held.snapshot.end_offset,
        "epoch": held.snapshot.epoch,
        "content_sha256": held.snapshot.content_sha256,
        **_counted(_owned(part, held.image, replay)),
        "refused": held.refused,
    }


def difference_of(row: dict[str, Any]) -> Difference:
    """An element of a sample as a value."""
    return Difference(row["entity"], row["key"], row["in_snapshot"], row["in_log"])


def _row(found: Difference) -> dict[str, Any]:
    values = KIND_ORDER[found.kind], *found
    return dict(zip((field.name for field in _DIFFERENCE), values, strict=True))
