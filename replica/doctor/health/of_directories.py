"""Makes the Cluster for the rules of health from the directories of its replicas, and counts the
records of a directory's log: of small segments record by record, of large segments by the bulk
reader."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from replica.doctor.check.behind import behind, own_ends
from replica.doctor.check.examined import Examined
from replica.doctor.check.newest import ClusterState
from replica.doctor.check.record_findings import passed_over
from replica.doctor.check.replay_fold import LogFold
from replica.doctor.check.replaying import snapshot_image
from replica.doctor.health.absent import may_have_vanished
from replica.doctor.health.cluster import Beginning, Cluster, Lag, PartitionKey, Shortened
from replica.doctor.health.log_content import LogContent
from replica.doctor.health.new_directories import (
    led_from_new_directories,
    may_have_begun_empty,
)
from replica.doctor.health.reassignments import reassigned, reassignment_starts
from replica.doctor.health.rewound import WATCHED, VisibleChange
from replica.doctor.health.shortened import NAMES, brokers_down, shortened_while_down
from replica.doctor.quorum.log_ends import COPYING_MS
from replica.errors import DataError
from replica.format.compression import Inflation
from replica.message.primitives import uuid_bytes
from replica.metadata.codec import decode
from replica.metadata.image.image import Image
from replica.metadata.image.partition import LEADER_UNCHANGED
from replica.metadata.image.replay import MARKERS, Refusal, ReplayedRecord
from replica.metadata.image.versions import VersionedReplay
from replica.metadata.record import MetadataRecord
from replica.scan.segments import is_large

_BEGIN, _END, _ = MARKERS
_MOST_IN_TRANSACTION = 10_000
"""The most records that are read to find the end of a transaction that may have begun before the
first of them."""
_MOST_STEPS = 200_000
"""A log with more offsets than this is not replayed a second time."""
_SHORTENING = tuple(name.encode() for name in NAMES)
_FENCING_RECORDS = {"BROKER_REGISTRATION_CHANGE_RECORD": "brokerId", "FENCE_BROKER_RECORD": "id"}
"""The field with the broker's id in each record that fences a broker and registers none."""
_PARTITION_CHANGE, _TOPIC_ID = b"\x01\x05", slice(7, 23)
"""The first bytes of a PARTITION_CHANGE_RECORD (frame version 1, api key 5), and the place of the
topic id in it: behind the version and the partition's id."""
_PARTITION_RECORDS = ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD")


def cluster_of(known: ClusterState, broker_defaults: Mapping[str, str]) -> Cluster | None:
    """The cluster that is judged; None if no state is known. broker_defaults: see Cluster."""
    state, quorum = known.state, known.quorum
    if state is None:
        return None
    end = state.end.offset
    proven, possible = (end, end) if quorum is None else (quorum.proven_end, quorum.possible_end)
    uncommitted = first_change(known.examined, possible, end)
    cluster = Cluster(
        state.image,
        known.cluster_id,
        known.examined.shown,
        end_offset=state.end.offset,
        is_whole=state.is_whole,
        refused_at=known.refused_at,
        voters=frozenset(voter.node_id for voter in known.voters),
        broker_defaults=broker_defaults,
        starts=_starts(known.examined, state.image, state.end.offset),
        now=known.last_timestamp,
        quorum=quorum,
        unproven_from=first_change(known.examined, proven, end),
        uncommitted_from=uncommitted,
        uncommitted_at=None if uncommitted is None else _time_of(known.examined, uncommitted),
        passed_over=passed_over(known.examined),
        lags=dict(_lags(known)),
        own_ends=own_ends(known.members),
        given_directories=known.given,
        cut_copy=known.cut_copy,
    )
    vanished = dict(_vanished(known.examined, cluster))
    return replace(
        cluster,
        shortened=_shortened(known.examined, cluster),
        led_from_new_directories=_led_from_new(known.examined, cluster),
        vanished=frozenset(vanished),
        idle_when_fenced=frozenset(one for one, led in vanished.items() if not led),
    )


def _shortened(examined: Examined, cluster: Cluster) -> tuple[Shortened, ...]:
    """The configs that shortened_while_down gives for this log. The log is replayed a second time
    only if a record after the stop of a broker names one of the configs in _SHORTENING."""
    end, down = cluster.end_offset, brokers_down(cluster)
    if not down or examined.directory.log_start_offset < end - _MOST_STEPS:
        return ()
    values = _values(examined, min(down.values()), end)
    if not any(name in value for value in values for name in _SHORTENING):
        return ()
    return shortened_while_down(cluster, lambda: steps_of(examined, end))


def _led_from_new(examined: Examined, cluster: Cluster) -> frozenset[PartitionKey]:
    """The partitions that led_from_new_directories gives for this log. The log is replayed a second
    time only if a record changes the directories of a partition of may_have_begun_empty."""
    start, end = examined.directory.log_start_offset, cluster.end_offset
    keys = may_have_begun_empty(cluster)
    if not keys or start < end - _MOST_STEPS or not _moves(examined, keys, start, end):
        return frozenset()
    return led_from_new_directories(cluster, lambda: steps_of(examined, end))


def _moves(examined: Examined, keys: Collection[PartitionKey], start: int, end: int) -> bool:
    """Whether a record from `start` (inclusive) to `end` (exclusive) changes the directories of
    one of these partitions."""
    topics = {uuid_bytes(topic_id) for topic_id, _ in keys}
    for value in _values(examined, start, end):
        if not value.startswith(_PARTITION_CHANGE) or value[_TOPIC_ID] not in topics:
            continue
        try:
            record = decode(value)
        except DataError:  # the rule undecodable-record reports it
            continue
        fields = record.fields if isinstance(record, MetadataRecord) else {}
        if fields.get("directories") and (fields["topicId"], fields["partitionId"]) in keys:
            return True
    return False


def _values(examined: Examined, start: int, end: int) -> Iterator[bytes]:
    """The values of the records of metadata from an offset (inclusive) to another (exclusive)."""
    for batch, record in examined.records(start, end):
        if not batch.header.is_control:
            yield record.value or b""


def _vanished(examined: Examined, cluster: Cluster) -> Iterator[tuple[int, bool]]:
    """(broker, whether it led a partition when it was fenced) for each broker of Cluster.vanished:
    the newest record about the broker fences it, and is no registration."""
    for broker, offset in may_have_vanished(cluster).items():
        found = examined.batch_at(offset)
        if found is None or found[1].header.is_control:
            continue  # its last change is in a snapshot
        content = examined.content_of(found[0])
        is_fenced = led = False
        for record in content.whole_records(found[1], Inflation(content.size)):
            message = decode(record.value or b"")
            if isinstance(message, MetadataRecord):
                is_fenced |= record.offset == offset and _fences(message, broker)
                led |= _moves_a_leader(message)
        if is_fenced:
            yield broker, led


def _moves_a_leader(record: MetadataRecord) -> bool:
    """Whether a record gives a partition another leader, or none. In the batch that fences a
    broker, Kafka does this only for partitions that the broker led."""
    is_change = record.type == "PARTITION_CHANGE_RECORD"
    return is_change and record.fields["leader"] != LEADER_UNCHANGED


def _fences(record: MetadataRecord, broker: int) -> bool:
    """Whether a record fences this broker, and isn't a registration. The caller finds the record by
    the offset of the broker's last change. If a snapshot gave that change, the offset is the last
    one below the snapshot's end, and the log may have any other record there."""
    field = _FENCING_RECORDS.get(record.type)
    return field is not None and record.fields[field] == broker


def _lags(known: ClusterState) -> Iterator[tuple[int, Lag]]:
    """The nodes that lack the end of the newest log, each with its lag, if the lag is longer than
    copying running nodes takes. If the leader gave up, every lag counts: the leader lost its
    majority because these nodes no longer fetched."""
    if known.quorum is None:
        return
    logs = {one.owner.key: one for one in known.members if one.replica is not None}
    late = {one.key for one in known.quorum.behind}
    least_ms = 0 if known.quorum.is_leaderless else COPYING_MS
    caught_up = {key.node_id for key in known.quorum.at_hand - late}  # by another of its disks
    for one in known.quorum.behind:
        ms = behind(logs.get(one.key, known.examined), one.end, known.examined).ms
        if one.key.node_id not in caught_up and ms is not None and ms >= least_ms:
            yield one.key.node_id, Lag(one.end, ms)


def first_change(examined: Examined, start: int, end: int) -> int | None:
    """The offset of the first record from `start` (inclusive) to `end` (exclusive) that changes the
    state; None if there is none. NoOpRecords (an idle controller appends two a second), control
    records and passed-over records change nothing. A transaction changes the state at its end, as
    in gold.metadata_history, unless it has no other records, is aborted or has not ended. A
    transaction that begins before `start` is recognized by its end."""
    seen = _SeenChanges()
    for batch, record in examined.records(start, end) if start < end else ():
        if batch.header.is_control:
            continue
        try:
            message = decode(record.value or b"")
        except DataError:  # the rule undecodable-record reports it
            return record.offset if seen.unmarked is None else seen.unmarked
        kind = message.type if isinstance(message, MetadataRecord) else ""
        if message.api_key in examined.passed_over or kind == "NO_OP_RECORD":
            continue
        add = seen.marker if kind in MARKERS else seen.change
        found = add(kind, record.offset)
        if found is not None:
            return found
    return seen.unmarked


class _SeenChanges:
    """Takes the records of a part of a log one by one. unmarked: the offset of the first change
    before any marker of a transaction; None if there is none."""

    def __init__(self) -> None:
        self.unmarked: int | None = None
        self._is_open: bool | None = None  # None (unknown) before the first marker
        self._has_changes = False

    def marker(self, kind: str, offset: int) -> int | None:
        """Take the marker of a transaction. Returns the offset of the first change that takes
        effect, if this marker decides it; else None."""
        if kind == _BEGIN and self.unmarked is not None:
            return self.unmarked
        if kind == _END and (self._has_changes or self._is_open is None):
            return offset
        self._is_open, self._has_changes, self.unmarked = kind == _BEGIN, False, None
        return None

    def change(self, _: str, offset: int) -> int | None:
        """Take a record that changes the state. Returns the offset of the first change that takes
        effect, if this record decides it; else None."""
        if self._is_open is False:
            return offset
        self._has_changes = True
        if self._is_open is None:
            self.unmarked = offset if self.unmarked is None else self.unmarked
            return self.unmarked if offset - self.unmarked >= _MOST_IN_TRANSACTION else None
        return None


def _time_of(examined: Examined, offset: int) -> int | None:
    """The time of the batch that holds an offset, in ms since 1970 (UTC); None if it's unknown."""
    found = examined.batch_at(offset)
    at = -1 if found is None else found[1].header.base_timestamp
    return None if at < 0 else at


def steps_of(
    examined: Examined, end_offset: int, others: Sequence[Examined] = ()
) -> Iterator[VisibleChange]:
    """The changes by each record before `end_offset`, the newest first. They go back to the
    snapshot with which the log's replay began, and further back by the logs among `others` that
    hold the snapshot's last entry: two logs with an entry of the same offset and epoch hold the
    same entries below it (Raft's log matching).

    There are no changes if no log reaches `end_offset`. others: directories of the same cluster.
    """
    source: Examined | None = examined
    while source is not None:
        start, steps = _replayed_steps(source, end_offset)
        yield from steps
        epoch = _epoch_below(source, start)
        others = [one for one in others if one is not source]
        source = None if epoch is None else _older_log(others, start, epoch)
        end_offset = start


def _replayed_steps(examined: Examined, end_offset: int) -> tuple[int, Iterator[VisibleChange]]:
    """The offset at which the replay of a log up to `end_offset` (exclusive) begins, and its
    changes, the newest first; `end_offset` itself and no changes if the log can't be replayed up to
    it."""
    recorders: list[_Recorder] = []

    def new_replay(image: Image) -> _Recorder:
        recorders.append(_Recorder(image))
        return recorders[-1]

    replaying = LogFold(examined, (), new_replay, snapshot_image)
    times: list[tuple[int, int]] = []
    for segment, batch in examined.batches:
        if batch.header.base_offset < end_offset:
            times.append((batch.header.base_offset, batch.header.base_timestamp))
            replaying.take(segment, batch)
    if not recorders or recorders[-1].end_offset != end_offset:
        return end_offset, iter(())
    return recorders[-1].start, _timed(reversed(recorders[-1].writes), times)


def _epoch_below(examined: Examined, offset: int) -> int | None:
    """The epoch of the entry before `offset`, by a snapshot that ends there; None without one."""
    return max(
        (snapshot_id.epoch for snapshot_id, _ in examined.usable_snapshots
         if snapshot_id.offset == offset),
        default=None,
    )  # fmt: skip


def _older_log(others: Iterable[Examined], end_offset: int, epoch: int) -> Examined | None:
    """The log that begins first among the logs with the entry of this epoch before `end_offset`;
    None if there is none. A log that can be read completely is preferred."""
    holding = [
        one
        for one in others
        if (found := one.batch_at(end_offset - 1)) and found[1].header.leader_epoch == epoch
    ]
    return min(holding, key=_by_reach, default=None)


def _by_reach(examined: Examined) -> tuple[bool, int]:
    return examined.hides_entries, examined.directory.log_start_offset


def _timed(
    writes: Iterable[tuple[int, tuple[tuple[str, Any, Any], ...]]], times: list[tuple[int, int]]
) -> Iterator[VisibleChange]:
    """The writes with their times. times: (base offset, base timestamp in ms) of each batch; all
    records of a controller's batch have the same time."""
    for offset, before in writes:
        base, at = times[bisect_right(times, offset, key=itemgetter(0)) - 1]
        yield VisibleChange(offset, None if base > offset or at < 0 else at, before)


class _Recorder:
    """A replay that notes the changes of each record.

    start, end_offset: the first applied offset, and the end (exclusive) of the applied offsets; -1
        before the first.
    writes: the offset of each record with changes, and VisibleChange.before.
    """

    def __init__(self, image: Image) -> None:
        self.start = self.end_offset = -1
        self.writes: list[tuple[int, tuple[tuple[str, Any, Any], ...]]] = []
        self._replay = VersionedReplay(image)

    def apply(self, offset: int, record: ReplayedRecord) -> Refusal | None:
        before = tuple(
            (write.kind.table, write.key, write.old)
            for write in self._replay.apply(offset, record)
            if write.kind.table in WATCHED
        )
        if before:
            self.writes.append((offset, before))
        if self.start < 0:
            self.start = offset
        self.end_offset = offset + 1
        return self._replay.refusal

    def image(self) -> Image:
        return self._replay.image()


def _starts(examined: Examined, image: Image, end_offset: int) -> dict[PartitionKey, Beginning]:
    """The beginnings of the running reassignments. If there are any, the log is read again, and
    only the records that name their topics are decoded."""
    keys = reassigned(image)
    if not keys:
        return {}
    topics = [uuid_bytes(topic_id) for topic_id in {key[0] for key in keys}]
    return reassignment_starts(keys, _changes_of(examined, topics, end_offset))


def _changes_of(
    examined: Examined, topics: list[bytes], end_offset: int
) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    for batch, record in examined.records(0, end_offset):
        value = record.value or b""
        if batch.header.is_control or not any(topic in value for topic in topics):
            continue
        try:
            message = decode(value)
        except DataError:  # the rule undecodable-record reports it
            continue
        if isinstance(message, MetadataRecord) and message.type in _PARTITION_RECORDS:
            yield record.offset, record.timestamp, message.fields


def content_of(examined: Examined) -> LogContent:
    """The content of a directory's log, as far as its records can be read."""
    found = LogContent()
    for segment in examined.directory.segments:
        content = examined.content_of(segment)
        if is_large(content.size):
            from replica.doctor.health.large_log_content import count_large  # it needs numpy

            count_large(content, segment.file.name.base_offset, found)
            continue
        inflation = Inflation(content.size)
        for batch in segment.scan.batches:
            if batch.crc_valid:
                found.add_batch(content, batch, inflation)
    last = examined.last_batch
    if last is None:
        return found
    first = next(one.scan.batches[0] for one in examined.directory.segments if one.scan.batches)
    return replace(found, first_at=first.header.base_timestamp, last_at=last.header.max_timestamp)
