"""The partitions of a run, replayed by the kernel of replica.scan.partition_versions where
possible.

The scalar replay (VersionedReplay) applies one record at a time. It has the true state of
everything except partitions. Before it applies a record that reads or removes partitions,
`hand_over` gives it these partitions. After it has written partitions and topics, `learn` passes
these writes to the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from pipelines.replay.entries import Entries
from pipelines.replay.parts import Part
from pipelines.replay.written import CHANGE, VERSION, WRITTEN, Since, written
from replica.metadata.changes.named_changes import ChangeNamer
from replica.metadata.codec import encode
from replica.metadata.image.image import KIND_OF
from replica.metadata.image.kind import EntityKind
from replica.metadata.image.partition import Partition, fields_of
from replica.metadata.image.replay import MARKERS, ReplayedRecord
from replica.metadata.image.versions import VersionedReplay, Write
from replica.metadata.record import MetadataRecord, new_record
from replica.metadata.records import RECORDS_BY_NAME
from replica.scan.native import Longs
from replica.scan.partition_versions import PartitionVersions, ReportedVersions
from replica.scan.readiness import ready
from replica.scan.version_input import MOST_ROWS, NOWHEN, RECORD_TYPES, silent_rows
from replica.scan.version_tables import CHANGES

Open: TypeAlias = dict[tuple[str, Any], tuple[EntityKind, Since]]
"""By the name of the kind and the key of an entity: the kind, and since when its newest version is
valid."""

_PARTITION, _TOPIC = KIND_OF["partition"], KIND_OF["topic"]
_TIME = WRITTEN.field("valid_from").type
_CHANGE_TYPES = pa.array(CHANGES, pa.string())
_OF_ONE_TOPIC = frozenset({"TOPIC_RECORD", "REMOVE_TOPIC_RECORD", *RECORD_TYPES})
_OF_ALL = frozenset({*MARKERS, "CLEAR_ELR_RECORD"})
_NOWHERE = -1
"""The record offset of a version that began in a snapshot."""
_REFILL_SHARE = 8
"""To give the kernel one partition takes an eighth of the time in which the scalar replay applies
one record. So the kernel takes over again only after the scalar replay has applied enough records:
a log with transactions switches between the two often."""


@dataclass
class PartitionsReplay:
    """A run that is being replayed."""

    part: Part
    replay: VersionedReplay = field(default_factory=VersionedReplay)
    namer: ChangeNamer = field(default_factory=ChangeNamer)
    opened: Open = field(default_factory=dict)
    is_explained: bool = False
    """Whether History.read has given a record of the run that can't be applied. Further records of
    this part that can't be applied are only counted."""
    refused: int = 0
    """The number of records that can't be applied, that History.read didn't give, and that
    History.refused has not returned yet."""
    changes: list[tuple[Any, ...]] = field(default_factory=list)
    """Rows of changes, made one by one, that were not taken yet."""
    batches: list[pa.RecordBatch] = field(default_factory=list)
    """Batches of WRITTEN that were not taken yet."""


class Partitions:
    """The partitions of a run, one run after the other. are_open: whether the kernel has the
    partitions and their versions."""

    def __init__(self, cluster_id: str) -> None:
        self._cluster_id = cluster_id
        self._replay: PartitionVersions | None = None
        self._one_by_one = 0
        self._types: list[str | None] = [*RECORD_TYPES]

    @property
    def are_open(self) -> bool:
        return self._replay is not None

    def forget(self) -> None:
        """Forgets the run, because another one begins."""
        self._replay, self._one_by_one = None, 0

    def take(self, entries: Entries, row: int, of: PartitionsReplay) -> int:
        """Replays entries by the kernel. Gives the first row from `row` on that the scalar replay
        has to apply; the number of rows where there is none."""
        if self._replay is None:
            self._one_by_one += 1
            if ready():
                self._begin(of)
        if self._replay is None:
            return row
        is_full = True
        while is_full:
            row = self._replay.take(entries.kernel_rows, row, explained=of.is_explained)
            of.refused += self._replay.refused
            is_full = self._replay.is_full
            if is_full:
                self.tell(entries, of)
        return row

    def tell(self, entries: Entries, of: PartitionsReplay) -> None:
        """Adds to `of` the rows that the kernel has made of these entries since the last call."""
        if self._replay is None:
            return
        self._tell_new_topics(entries, of)
        versions = self._replay.reported_versions()
        ends = _integers(entries.offsets[versions.row]), _times(entries.times[versions.row])
        rows = [self._versions(versions, *ends), self._changes(entries)]
        of.batches += [batch for batch in rows if batch.num_rows]

    def _tell_new_topics(self, entries: Entries, of: PartitionsReplay) -> None:
        assert self._replay is not None
        state = of.replay.state
        for topic_id, name, row, offset, time, epoch in self._replay.new_topics():
            state.topics.values[topic_id] = name
            state.topics.offsets[topic_id] = offset
            state.topic_ids[name] = topic_id
            at = None if time == NOWHEN else time
            since = Since(offset, at, epoch, offset, _TOPIC.record_type)
            of.opened[_TOPIC.name, topic_id] = _TOPIC, since
            if of.part.owns(_TOPIC.name, topic_id):
                what = _TOPIC.name, topic_id, name, at, epoch, offset, _TOPIC.record_type
                value = _TOPIC.value_text(topic_id, name)
                commitment = entries.commitments[row].as_py()
                of.changes.append((*what, "topic_created", None, value, commitment))

    def hand_over(self, of: PartitionsReplay, topic_id: str | None = None) -> None:
        """Gives the replay the partitions that the kernel has changed: those of the topic, or with
        None all."""
        if self._replay is None:
            return
        state = of.replay.state
        for key, value, since in self._replay.changed(topic_id):
            state.partitions.values[key] = value
            state.partitions.offsets[key] = since.record_offset
            state.partition_ids.setdefault(key[0], set()).add(key[1])
            of.opened[_PARTITION.name, key] = _PARTITION, self._since(since)

    def before(self, record: ReplayedRecord, entries: Entries, of: PartitionsReplay) -> None:
        """Gives the scalar replay `of` the partitions that `record` may change, just before the
        scalar replay applies this record. The record is one of `entries`."""
        if not isinstance(record, MetadataRecord) or self._replay is None:
            return
        if record.type in _OF_ONE_TOPIC:
            self._tell_new_topics(entries, of)
            self.hand_over(of, str(record.fields["topicId"]))
        elif record.type in _OF_ALL:
            self.tell(entries, of)
            self.hand_over(of)
            if record.type in MARKERS:
                self.forget()

    def learn(
        self, writes: Sequence[Write], entries: Entries, row: int, of: PartitionsReplay
    ) -> None:
        """Passes to the kernel the writes of the record at this row of the entries, which the
        scalar replay has applied."""
        if self._replay is None:
            return
        topics = [write for write in writes if write.kind is _TOPIC]
        if topics:
            is_learned = len(topics) == 1 and self._replay.learn_topic(
                entries.kernel_rows, row, topics[0].key
            )
            if not is_learned:
                self._learn_topics([(write.key, write.new) for write in topics])
        changed = [w for w in writes if w.kind is _PARTITION and w.new is not None]
        if changed:
            self._put([(w.key, w.new, of.opened[_PARTITION.name, w.key][1]) for w in changed])

    def end(self, to_offset: int | None) -> Iterator[pa.RecordBatch]:
        """Ends the run: its versions that are still valid become rows of WRITTEN. to_offset: the
        offset (exclusive) up to which they are valid; None where nothing ends them."""
        if self._replay is not None:
            for versions in self._replay.open_versions():
                count = len(versions.row)
                ends = pa.repeat(pa.scalar(to_offset, pa.int64()), count), pa.nulls(count, _TIME)
                yield self._versions(versions, *ends)
        self.forget()

    def _begin(self, of: PartitionsReplay) -> None:
        state = of.replay.state
        entities = len(state.topics.values) + len(state.partitions.values)
        if of.replay.in_transaction or self._one_by_one * _REFILL_SHARE < entities:
            return
        self._replay = PartitionVersions()
        for name, topic_id in of.namer.former.items():
            self._learn_topics([(topic_id, name), (topic_id, None)])
        self._learn_topics([*state.topics.values.items()])
        self._put(
            [
                (key, value, of.opened[_PARTITION.name, key][1])
                for key, value in state.partitions.values.items()
            ]
        )

    def _learn_topics(self, topics: Sequence[tuple[str, str | None]]) -> None:
        """Passes the ids and names of topics to the kernel. A removed topic has the name None."""
        assert self._replay is not None
        for chunk in _chunks(topics):
            values = [
                encode(new_record("REMOVE_TOPIC_RECORD", 0, {"topicId": topic_id}))
                if name is None
                else encode(new_record("TOPIC_RECORD", 0, {"name": name, "topicId": topic_id}))
                for topic_id, name in chunk
            ]
            rows = silent_rows(values, topics=[topic_id for topic_id, _ in chunk])
            self._replay.learn(rows)

    def _put(self, partitions: Sequence[tuple[tuple[str, int], Partition, Since]]) -> None:
        assert self._replay is not None
        newest = RECORDS_BY_NAME["PARTITION_RECORD"].newest
        for chunk in _chunks(partitions):
            values = [
                encode(new_record("PARTITION_RECORD", newest, fields_of(key, value)))
                for key, value, _ in chunk
            ]
            self._replay.learn(silent_rows(values, since=[self._numbers(one[2]) for one in chunk]))

    def _numbers(self, since: Since) -> tuple[int, ...]:
        if since.record_type not in self._types:
            self._types.append(since.record_type)
        return (
            since.offset,
            NOWHEN if since.timestamp_us is None else since.timestamp_us,
            since.leader_epoch,
            _NOWHERE if since.record_offset is None else since.record_offset,
            self._types.index(since.record_type),
        )

    def _since(self, held: Any) -> Since:
        offset, time, epoch, record_offset, record_type = held
        return Since(
            offset,
            None if time == NOWHEN else time,
            epoch,
            None if record_offset == _NOWHERE else record_offset,
            self._types[record_type],
        )

    def _versions(
        self, reported: ReportedVersions, to_offset: pa.Array, valid_to: pa.Array
    ) -> pa.RecordBatch:
        types = pa.array(self._types, pa.string()).take(pa.array(reported.record_type))
        columns = {
            "key": reported.key,
            "name": reported.name,
            "value": reported.value,
            "valid_from_offset": _integers(reported.offset),
            "valid_to_offset": to_offset,
            "valid_from": _times(reported.time),
            "valid_to": valid_to,
            "leader_epoch": pa.array(reported.epoch.astype(np.int32)),
            "record_offset": _integers(reported.record_offset, reported.record_offset == _NOWHERE),
            "record_type": types,
        }
        return written(len(reported.row), columns, self._same(VERSION))

    def _changes(self, entries: Entries) -> pa.RecordBatch:
        assert self._replay is not None
        reported = self._replay.reported_changes()
        types = pa.array(RECORD_TYPES, pa.string()).take(
            pa.array(entries.kernel_rows.record_types[reported.row])
        )
        columns = {
            "key": reported.key,
            "name": reported.name,
            "valid_from": _times(entries.times[reported.row]),
            "leader_epoch": pa.array(entries.epochs[reported.row].astype(np.int32)),
            "record_offset": _integers(entries.offsets[reported.row]),
            "record_type": types,
            "change": _CHANGE_TYPES.take(pa.array(reported.change)),
            "old": reported.old,
            "new": reported.new,
            "commitment": entries.commitments.take(pa.array(reported.row)),
        }
        return written(len(reported.row), columns, self._same(CHANGE))

    def _same(self, what: str) -> dict[str, str]:
        return {"what": what, "cluster_id": self._cluster_id, "entity": _PARTITION.name}


def _chunks(some: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for low in range(0, len(some), MOST_ROWS):
        yield some[low : low + MOST_ROWS]


def _integers(numbers: Longs, missing: Any = None) -> pa.Array:
    return pa.array(numbers, pa.int64(), mask=missing)


def _times(microseconds: Longs) -> pa.Array:
    """Times in microseconds since 1970 as an array; NULL for NOWHEN."""
    return _integers(microseconds, microseconds == NOWHEN).cast(_TIME)
