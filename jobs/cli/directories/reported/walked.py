"""One walk through the typed changes of a cluster's log. It counts them, and keeps the newest ones
and those of superseded branches."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from jobs.cli.directories.reported.given import Capture, figure, time_of
from pipelines.report.change_queries import MAX_CHANGES
from pipelines.report.evidence import Activity, bucketing
from pipelines.report.source import Figure, Row
from replica.doctor.check.replay_fold import Watch
from replica.doctor.timeline.branch import Branch
from replica.doctor.timeline.changes import ChangeWalk, LoggedChange
from replica.history.commitment import EntryCommitment
from replica.history.log import OffsetRange
from replica.history.ranges import Ranges, difference, holds_offset
from replica.metadata.image.image import Image
from replica.metadata.redact import Redactor

_CREATIONS = ("topic_created", "partition_created")
"""Changes that make an entity. An entity that is made again has another id."""
_SUPERSEDED = EntryCommitment.SUPERSEDED.value


class _Kind(NamedTuple):
    """The key by which changes are counted: the kind of change, and the second of its time (since
    1970; None without a time)."""

    change: str
    second: int | None


class LostRecords(NamedTuple):
    """The records that replicas lost. They are read from the log of a capture that still has
    them."""

    capture: Capture
    held: Ranges
    """The offsets of the records."""
    epochs: frozenset[int]
    """The epochs of the records."""

    @property
    def first(self) -> int:
        return self.held[0].start if self.held else 0

    def has(self, one: LoggedChange) -> bool:
        """Whether one of the lost records made the change."""
        return one.leader_epoch in self.epochs and holds_offset(self.held, one.offset)


class Walked:
    """One walk along the branch. image: the state at the branch's end, without secrets; None where
    it isn't known. losses: the lost records whose changes are wanted."""

    def __init__(
        self, branch: Branch, redactor: Redactor, watch: Watch, losses: Sequence[LostRecords]
    ) -> None:
        self._branch = branch
        self._losses = losses
        self._lost: list[LoggedChange] = []
        self._counts: Counter[_Kind] = Counter()
        self._offsets: dict[str, tuple[int, int]] = {}
        self._newest: deque[LoggedChange] = deque(maxlen=MAX_CHANGES)
        self._beside: list[LoggedChange] = []
        self._kept: dict[tuple[str, str, str | None], int] = {}
        self._all = 0
        first = min((one.first for one in losses), default=None)
        walk = ChangeWalk(branch, redactor, watch)
        for change in walk.changes():
            self._take(change, first)
        self._unknown = walk.unknown
        self.image: Image | None = walk.image_at(branch.pieces[-1].end)

    def _take(self, one: LoggedChange, first: int | None) -> None:
        what, offset = one.named.change.change, one.offset
        self._all += 1
        if any(loss.has(one) for loss in self._losses):
            self._lost.append(one)
        (self._newest if one.tail is None else self._beside).append(one)
        if one.commitment == _SUPERSEDED:
            return
        if one.tail is None and first is not None and offset >= first:
            self._kept[_made(one)] = offset
        self._counts[_Kind(what, None if one.at < 0 else one.at // 1000)] += 1
        low, high = self._offsets.get(what, (offset, offset))
        self._offsets[what] = min(low, offset), max(high, offset)

    def activity(self) -> Activity:
        """The changes in buckets of time, as gold.metadata_changes gives them."""
        times = [one.second for one in self._counts if one.second is not None]
        start, width = bucketing(min(times, default=None), max(times, default=None))
        found: dict[tuple[str, int | None], int] = defaultdict(int)
        for (what, second), count in self._counts.items():
            found[what, None if second is None else (second - start) // width] += count
        rows = []
        for (what, bucket), count in found.items():
            first, last = self._offsets[what]
            ends = {"first_offset": first, "last_offset": last}
            rows.append({"change": what, "bucket": bucket, "changes": count, **ends})
        return Activity(figure(rows), start, width, typed=True)

    def newest(self) -> Figure:
        """The newest changes, with those of superseded branches."""
        ordered = sorted([*self._newest, *self._beside], key=_newest_first)[:MAX_CHANGES]
        return Figure("", tuple(map(_row, ordered)), self._all)

    def state_ranges(self) -> Figure:
        """A row for each range of end offsets, from_offset to to_offset (both inclusive), at which
        the state is known."""
        pieces = self._branch.pieces
        whole = (OffsetRange(pieces[0].start, pieces[-1].end),)
        unknown = tuple(OffsetRange(one.start, one.end) for one in self._unknown)
        known = difference(whole, unknown)
        return figure([{"from_offset": one.start, "to_offset": one.end} for one in known])

    def of_loss(self, loss: LostRecords) -> Figure:
        """A row for each type of change that the lost records made: the number of its changes, and
        how many of them the agreed branch makes again."""
        lost = [one for one in self._lost if loss.has(one)]
        topics = {one.named.write.key for one in lost if one.named.write.kind.name == "topic"}
        found: dict[tuple[str, bool], list[LoggedChange]] = defaultdict(list)
        for one in lost:
            found[one.named.change.change, _is_of(one, topics)].append(one)
        rows: list[dict[str, Any]] = [
            {
                "change": what,
                "with_topic": with_topic,
                "changes": len(each),
                "again": sum(self._is_made_again(one, loss.first) for one in each),
                "example": min(one.named.name for one in each),
            }
            for (what, with_topic), each in found.items()
        ]
        return figure(sorted(rows, key=lambda row: (-row["changes"], row["change"])))

    def _is_made_again(self, one: LoggedChange, first: int) -> bool:
        """Whether `one` is a change of a superseded branch, and a record of the agreed branch at
        or above the offset `first` makes the same change."""
        return one.commitment == _SUPERSEDED and self._kept.get(_made(one), -1) >= first


def _newest_first(one: LoggedChange) -> tuple[int, int, str, str, str]:
    write = one.named.write
    key = write.kind.key_text(write.key)
    return -one.offset, -one.leader_epoch, write.kind.name, key, one.named.change.change


def _made(one: LoggedChange) -> tuple[str, str, str | None]:
    what, new = one.named.change.change, one.named.change.new
    return what, one.named.name, None if what in _CREATIONS else new


def _is_of(one: LoggedChange, topics: Collection[Any]) -> bool:
    """Whether the change is of a partition of one of these topics."""
    write = one.named.write
    return write.kind.name == "partition" and write.key[0] in topics


def _row(one: LoggedChange) -> Row:
    change = one.named.change
    return {
        "offset": one.offset,
        "leader_epoch": one.leader_epoch,
        "at": time_of(one.at),
        "change": change.change,
        "entity": one.named.write.kind.name,
        "name": one.named.name,
        "old": change.old,
        "new": change.new,
        "commitment": one.commitment,
    }
