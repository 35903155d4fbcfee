"""The content of each replica's log in a run, and all records that were ever committed. The logs
and the committed records come from the data that was written, not from the state of the cores."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from replica.model.batch import Batch
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import ReplicaKey
from replica.model.stored import SnapshotFacts
from replica.model.voters import VoterSet, without_directories
from replica.raft.effects import Effects
from replica.raft.log_state import HistoryEntry
from replica.simulate.host import SimulatedHost
from replica.simulate.workload import Workload
from replica.storage.batches import bytes_of

_CRC_START, _CRC_END = 17, 21
_Value = TypeVar("_Value")


class LedgerBatch(NamedTuple):
    """A batch.

    base, last: the first and the last offset of the batch, both inclusive.
    crc: the four bytes of the CRC of the batch.
    before: the epoch of the previous batch; None if this epoch is unknown.
    voters, version: the voter set and the kraft.version that the batch names; None if the batch
        names none.
    """

    base: int
    last: int
    epoch: int
    crc: bytes
    before: int | None
    data: bytes
    voters: VoterSet | None
    version: int | None

    def is_same(self, other: LedgerBatch) -> bool:
        return self[:4] == other[:4]


@dataclass(slots=True)
class Shadow:
    """One replica's log, as it follows from the data that was written. A replica whose disk was
    wiped has a new shadow.

    sets, versions: the voter sets and kraft.versions that the log names.
    snapshots: the ids of the replica's snapshots.
    known_sets, known_versions, known_snapshots: the core's own values at the last comparison.
    flushed: the end (exclusive) of the flushed records.
    committed: the end (exclusive) of the committed records.
    applied: the end (exclusive) of the records that the state machine got.
    promised: the newest epoch in which the replica sent something.
    stored: the epoch in the replica's quorum-state.
    watermark: the epoch and the high watermark when the replica last led.
    """

    static_voters: VoterSet = VoterSet()  # noqa: RUF009 (frozen)
    entries: list[LedgerBatch] = field(default_factory=list)
    sets: list[HistoryEntry[VoterSet]] = field(default_factory=list)
    versions: list[HistoryEntry[int]] = field(default_factory=list)
    snapshots: set[OffsetAndEpoch] = field(default_factory=set)
    known_sets: object = None
    known_versions: object = None
    known_snapshots: object = None
    flushed: int = 0
    committed: int = 0
    applied: int = 0
    promised: int = 0
    stored: int = 0
    watermark: tuple[int, int] = (0, -1)

    @property
    def voters(self) -> VoterSet:
        """The voter set in force: the newest voter set in the log, committed or not."""
        return self.sets[-1].value if self.sets else self.static_voters

    @property
    def kraft_version(self) -> int:
        """The kraft.version in force: the newest kraft.version in the log, committed or not."""
        return self.versions[-1].value if self.versions else 0

    @property
    def position(self) -> OffsetAndEpoch:
        """The end of the log, or the end of the newest snapshot if the snapshot is newer."""
        found = [OffsetAndEpoch(0, 0), *self.snapshots]
        if self.entries:
            found.append(OffsetAndEpoch(self.entries[-1].last + 1, self.entries[-1].epoch))
        return max(found, key=election_order)

    def first_of(self, epoch: int) -> LedgerBatch | None:
        """The first batch of an epoch; None if the log has no batch of that epoch."""
        index = bisect_left(self.entries, epoch, key=lambda entry: entry.epoch)
        found = self.entries[index : index + 1]
        return found[0] if found and found[0].epoch == epoch else None

    def at(self, base: int) -> LedgerBatch | None:
        index = bisect_left(self.entries, base, key=lambda entry: entry.base)
        found = self.entries[index : index + 1]
        return found[0] if found and found[0].base == base else None

    def add(self, batch: Batch) -> LedgerBatch:
        before = self.entries[-1] if self.entries else None
        follows = before is not None and before.last + 1 == batch.base_offset
        data = bytes_of(batch)
        voters = version = None
        for index, record in enumerate(batch.control):
            if isinstance(record, KRaftVoters):
                voters = record.voters
                self.sets.append(HistoryEntry(batch.base_offset + index, voters))
            elif isinstance(record, KRaftVersion):
                version = record.kraft_version
                self.versions.append(HistoryEntry(batch.base_offset + index, version))
        entry = LedgerBatch(
            batch.base_offset,
            batch.last_offset,
            batch.epoch,
            data[_CRC_START:_CRC_END],
            before.epoch if before is not None and follows else None,
            data,
            voters,
            version,
        )
        self.entries.append(entry)
        return entry

    def follow(self, host: SimulatedHost, effects: Effects) -> list[LedgerBatch]:
        """Add the batches that a step has written. Returns the new entries."""
        if effects.truncate_to is not None:
            self.cut(effects.truncate_to)
        if effects.reset_to is not None:
            self.entries.clear()
            self.sets.clear()
            self.versions.clear()
            facts = host.log.snapshots.facts()
            self.begin_at(next(f for f in facts if f.snapshot_id == effects.reset_to))
        self.flushed = host.flushed_end
        if effects.quorum_state is not None:
            self.stored = effects.quorum_state.epoch
        return [self.add(batch) for batch in effects.append]

    def begin_at(self, facts: SnapshotFacts) -> None:
        """Restart the log at a snapshot."""
        if facts.voters is not None:
            self.sets.append(HistoryEntry(facts.snapshot_id.offset - 1, facts.voters))
        if facts.kraft_version:
            self.versions.append(HistoryEntry(facts.snapshot_id.offset - 1, facts.kraft_version))

    def cut(self, end: int) -> None:
        while self.entries and self.entries[-1].last >= end:
            self.entries.pop()
        while self.sets and self.sets[-1].offset >= end:
            self.sets.pop()
        while self.versions and self.versions[-1].offset >= end:
            self.versions.pop()


def read_back(host: SimulatedHost, static_voters: VoterSet) -> Shadow:
    """The shadow of a disk that was just opened. All records on that disk are durable."""
    log = host.log
    shadow = Shadow(static_voters, flushed=log.log_end)
    with host.disk.inspected():
        older = [f for f in log.snapshots.facts() if f.snapshot_id.offset <= log.log_start]
        for facts in older[-1:]:
            shadow.begin_at(facts)
        for batch in log.batches(log.log_start, log.log_end):
            shadow.add(batch)
    return shadow


class Ledger:
    """The committed log.

    entries: the batches by base offset.
    end: the end offset (exclusive).
    epoch: the epoch of the leader that committed last.
    states: the state of the workload's machine after each batch, by the batch's end offset.
    ends: the batches by their end offsets.
    first_voters: the voters in force before a record names voters. If these voters have directory
        ids, kraft.version is 1 from the beginning.
    """

    def __init__(self, workload: Workload, first_voters: VoterSet) -> None:
        self.first_voters = first_voters
        self.entries: dict[int, LedgerBatch] = {}
        self.end = 0
        self.epoch = 0
        self._workload = workload
        self._machine = workload.machine()
        self.states: dict[int, object] = {0: workload.state(self._machine)}
        is_static = first_voters.keys == without_directories(first_voters).keys
        self._sets = [HistoryEntry(-1, first_voters)]
        self._versions = [HistoryEntry(-1, 0 if is_static else 1)]
        self.ends: dict[int, LedgerBatch] = {}

    def extend(self, entry: LedgerBatch) -> None:
        self.entries[entry.base] = entry
        self.end = entry.last + 1
        batch = Batch(entry.base, entry.last, entry.epoch, 0, (), entry.data)
        self._machine.commit((batch,))
        self.states[self.end] = self._workload.state(self._machine)
        self.ends[self.end] = entry
        if entry.voters is not None:
            self._sets.append(HistoryEntry(entry.last, entry.voters))
        if entry.version is not None:
            self._versions.append(HistoryEntry(entry.last, entry.version))

    def voters_before(self, end: int) -> VoterSet:
        """The newest voter set that was committed below `end`."""
        return _newest_before(self._sets, end)

    def kraft_version_before(self, end: int) -> int:
        """The newest kraft.version that was committed below `end`."""
        return _newest_before(self._versions, end)


def _newest_before(entries: list[HistoryEntry[_Value]], end: int) -> _Value:
    return [entry.value for entry in entries if entry.offset < end][-1]


def shadows_holding(shadows: dict[ReplicaKey, Shadow], voters: VoterSet, end: int) -> int:
    """The number of voters in `voters` that have made everything below `end` durable."""
    return sum(
        any(voter.matches(key) and shadow.flushed >= end for key, shadow in shadows.items())
        for voter in voters
    )
