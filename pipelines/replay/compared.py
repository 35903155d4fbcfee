"""Compares each snapshot with the agreed branch and with other snapshots of its id, and notes the
records of the branch that can't be applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pyarrow as pa

from pipelines.replay.parts import Begin, End, Part, SnapshotEntities, Step
from pipelines.replay.plan import CONTENT_IDS, ReplayRun
from replica.doctor.check.snapshot_validity import Differing, compare_images
from replica.metadata.image.image import PLACE_OF, EntityDifference, Image
from replica.metadata.image.replay import Refusal, ReplayedRecord

Row = dict[str, Any]

SAMPLE = 20
"""The most differences of one snapshot that are kept with their values."""

_DIFFERENCE = pa.struct(
    [
        ("place", pa.int32()),
        *((name, pa.string()) for name in ("entity", "key", "in_snapshot", "in_log")),
    ]
)
_REFUSAL = pa.struct([
    ("offset", pa.int64()), ("record_type", pa.string()), ("reason", pa.string()),
    ("because", pa.list_(pa.int64())),
])  # fmt: skip
REPLAYED = pa.schema([
    ("cluster_id", pa.string()), ("base_offset", pa.int64()),
    ("end_offset", pa.int64()), ("epoch", pa.int32()), ("content_sha256", pa.string()),
    ("against_sha256", pa.string()),
    ("different", pa.int64()), ("orphans", pa.int64()), ("dropped", pa.int64()),
    ("sample", pa.list_(_DIFFERENCE)), ("explained_sample", pa.list_(_DIFFERENCE)),
    ("refused", pa.int64()), ("first_refused", _REFUSAL),
])  # fmt: skip
"""A row is about a snapshot, or about a run of the log from base_offset to end_offset (exclusive).
For a run content_sha256 and epoch are NULL. A row has the results of one part of a replay.

against_sha256: the other content of the snapshot's id with which the snapshot was compared; NULL
where it was compared with the log. refused: how many records can't be applied. orphans, dropped: as
in replica.doctor.check.snapshot_validity.Differing. sample: the first of the other differences
(place: as in PLACE_OF). explained_sample: the first orphans and dropped entities, where two
contents were compared.
"""

COUNTS = ("different", "orphans", "dropped", "refused")


class Comparing:
    """Makes the rows of REPLAYED of one part. It must get the part's steps in their order."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._run: _Run | None = None
        self._same_id: list[SnapshotEntities] = []

    def refuse(self, record: ReplayedRecord, refusal: Refusal) -> None:
        """Notes that the record of the next entry can't be applied. Entries whose records can be
        applied are not given to this object."""
        assert self._run is not None, "entries belong to a run"
        if self._part.owns_record(record):
            self._run.refused += 1
            self._run.first = self._run.first or refusal

    def refuse_more(self, count: int) -> None:
        """Notes that `count` more records of this part can't be applied. They come after a record
        that `refuse` was given."""
        if count:
            assert self._run is not None, "entries belong to a run"
            self._run.refused += count

    def take(self, step: Step, image: Callable[[], Image]) -> Iterator[Row]:
        """The rows that are complete after a step other than an entry. The caller takes them before
        the next step. image: gives the state of the run up to this step."""
        if isinstance(step, Begin):
            self._run = _Run(step.run)
        elif isinstance(step, SnapshotEntities):
            if self._run is not None and step.snapshot.is_on_branch:
                base = {"base_offset": self._run.run.base_offset}
                yield base | _of_snapshot(self._part, step, image())
            if self._same_id and self._same_id[0].snapshot[:2] != step.snapshot[:2]:
                yield from self.rest()
                self._same_id = []
            self._same_id.append(step)
        elif isinstance(step, End):
            assert self._run is not None, "a run that ends has begun"
            yield {"cluster_id": self._part.cluster_id, **self._run.ended()}
            self._run = None

    def rest(self) -> Iterator[Row]:
        """The rows that are complete after the last step: the comparisons of each pair of contents
        of the last snapshot id, for this part's keys."""
        for one, other in combinations(self._same_id, 2):
            found = _owned(self._part, one.image, other.image)
            explained = (*found.orphans, *found.dropped)[:SAMPLE]
            yield {
                **_content_ids(self._part, one),
                "against_sha256": other.snapshot.content_sha256,
                **_counted(found),
                "explained_sample": [_row(one) for one in explained],
                "refused": one.refused + other.refused,
            }


@dataclass
class _Run:
    """A run that has begun."""

    run: ReplayRun
    refused: int = 0
    """The number of the run's records that this part owns and that can't be applied."""
    first: Refusal | None = None
    """The refusal of the first record that `refused` counts; None where it counts none."""

    def ended(self) -> Row:
        """The columns of the run's row, except cluster_id."""
        return {
            "base_offset": self.run.base_offset,
            "end_offset": self.run.end,
            "refused": self.refused,
            "first_refused": None if self.first is None else self.first._asdict(),
        }


def _owned(part: Part, a: Image, b: Image) -> Differing:
    """The differences in this part's keys. Other parts compare the other keys."""
    found = compare_images(a, b)
    orphans, dropped, others = (
        [one for one in differing if part.owns(one.kind, one.key)]
        for differing in (found.orphans, found.dropped, found.others)
    )
    return Differing(orphans, dropped, others)


def _counted(found: Differing) -> Row:
    return {
        "different": len(found.others),
        "orphans": len(found.orphans),
        "dropped": len(found.dropped),
        "sample": [_row(one) for one in found.others[:SAMPLE]],
    }


def _of_snapshot(part: Part, held: SnapshotEntities, replay: Image) -> Row:
    found = _counted(_owned(part, held.image, replay))
    return {**_content_ids(part, held), **found, "refused": held.refused}


def _content_ids(part: Part, held: SnapshotEntities) -> Row:
    return dict(zip(CONTENT_IDS, (part.cluster_id, *held.snapshot[:3]), strict=True))


def difference_of(row: Row) -> EntityDifference:
    """The difference in an element of a sample."""
    return EntityDifference(row["entity"], row["key"], row["in_snapshot"], row["in_log"])


def _row(found: EntityDifference) -> Row:
    values = PLACE_OF[found.kind], *found
    return dict(zip((field.name for field in _DIFFERENCE), values, strict=True))


_SAMPLES = ("sample", "explained_sample")


def folded(rows: Iterable[Row]) -> list[Row]:
    """The rows of REPLAYED of all parts, added up: a row for each content of a snapshot compared
    with the log, for each pair of contents of one id, and for each run of the log."""
    of_one: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        run = row["base_offset"] if row["content_sha256"] is None else None
        key = *(row[name] for name in CONTENT_IDS), row["against_sha256"], run
        of_one[key].append(row)
    return [_folded(parts) for parts in of_one.values()]


def _folded(parts: list[Row]) -> Row:
    found = dict(parts[0])
    if len(parts) > 1:
        bases = [row["base_offset"] for row in parts if row["base_offset"] is not None]
        found["base_offset"] = min(bases, default=None)
        found |= {name: _sum(row[name] for row in parts) for name in COUNTS}
        found |= {name: _first(row[name] for row in parts) for name in _SAMPLES}
        refusals = [row["first_refused"] for row in parts if row["first_refused"] is not None]
        found["first_refused"] = min(refusals, key=lambda one: one["offset"], default=None)
    return found


def _sum(counts: Iterable[int | None]) -> int | None:
    """The sum; None where no part has a count."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _first(samples: Iterable[list[Row] | None]) -> list[Row] | None:
    """The first differences of all parts, by place; None where no part has any."""
    known = [sample for sample in samples if sample is not None]
    if not known:
        return None
    return sorted((one for sample in known for one in sample), key=_place)[:SAMPLE]


def _place(difference: Row) -> list[tuple[bool, Any]]:
    """The sort key of a difference. None comes first."""
    return [(value is not None, value) for value in difference.values()]
