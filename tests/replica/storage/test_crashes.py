"""A log against a simple model, with the power going at any call to the disk.

The model knows what was acknowledged as synced. After a crash the log must hold all of that, may
hold more of what was appended, and nothing else; its epochs, snapshots and vote likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from replica.errors import DataError, FileSystemError
from replica.history.epochs import epoch_for_offset
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import ReplicaKey
from replica.model.stored import ElectionState
from replica.simulate.disk import DiskFaults, PowerLossError, SimulatedDisk
from replica.storage.batches import bytes_of
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.examples import examples
from tests.replica.storage.content import batch, leader_change

FOLDER = "/log"
CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=150)
SEEDS = st.integers(0, 2**32)


@dataclass(frozen=True)
class State:
    """What the log holds, or may hold after a crash.

    batches: all of them, or the longest list that a crash may leave a beginning of. synced: offset
    (exclusive) below which none may be lost. starts: log starts that may be found, the usual one
    first. snapshots: surely complete; doubtful: there or not. votes: one of them is found.
    """

    batches: tuple[Batch, ...] = ()
    synced: int = 0
    starts: tuple[int, ...] = (0,)
    snapshots: frozenset[OffsetAndEpoch] = frozenset()
    doubtful: frozenset[OffsetAndEpoch] = frozenset()
    votes: tuple[ElectionState | None, ...] = (None,)

    @property
    def start(self) -> int:
        return self.starts[0]

    @property
    def end(self) -> int:
        return self.batches[-1].end_offset if self.batches else self.start


class CrashingLog(RuleBasedStateMachine):
    """Each rule gives the states that a crash in it may leave, and the one after it."""

    def __init__(self) -> None:
        super().__init__()
        self.random = Random(0)
        self.disk = SimulatedDisk(self.random)
        self.state = State()
        self.epoch = 1
        self.log: FileLog = open_log(self.disk, FOLDER, CONFIG)

    @rule(seed=SEEDS, calls=st.integers(0, 40))
    def let_power_go_soon(self, seed: int, calls: int) -> None:
        """In this rule or a later one."""
        self.random.seed(seed)
        self.disk.power_loss_in(calls)

    @rule(seed=SEEDS)
    def pull_the_plug(self, seed: int) -> None:
        self.random.seed(seed)
        self.recover(self.state)

    @rule(seed=SEEDS, rate=st.sampled_from([0.05, 0.5]))
    def break_the_disk(self, seed: int, rate: float) -> None:
        """Until the next restart, writes and syncs fail now and then."""
        self.random.seed(seed)
        self.disk.faults = DiskFaults(write_error_rate=rate, sync_error_rate=rate)

    @rule(seed=SEEDS, left=st.integers(0, 500))
    def fill_the_disk(self, seed: int, left: int) -> None:
        self.random.seed(seed)
        self.disk.faults = DiskFaults(capacity_bytes=self.disk.used_bytes() + left)

    @rule(records=st.lists(st.integers(1, 4), min_size=1, max_size=8), elects=st.booleans())
    def append(self, records: list[int], elects: bool) -> None:
        added: list[Batch] = []
        if elects:
            self.epoch += 1
            added.append(leader_change(self.state.end, self.epoch))
        for count in records:
            base = added[-1].end_offset if added else self.state.end
            added.append(batch(base, records=count, epoch=self.epoch, size=20))
        after = replace(self.state, batches=(*self.state.batches, *added))
        self.attempt(lambda: self.log.append(added), maybe=after, after=after)

    @rule()
    def flush(self) -> None:
        after = replace(self.state, synced=self.state.end)
        self.attempt(self.log.flush, maybe=self.state, after=after)

    @rule(back=st.integers(1, 30))
    def truncate(self, back: int) -> None:
        """As Raft does: never below the log start or a snapshot's end."""
        known = self.state.snapshots | self.state.doubtful
        floor = max([self.state.start, *(snapshot.offset for snapshot in known)])
        target = max(floor, self.state.end - back)
        kept = tuple(b for b in self.state.batches if b.end_offset <= target)
        after = replace(self.state, batches=kept)
        after = replace(after, synced=after.end)
        maybe = replace(self.state, synced=min(self.state.synced, after.end))
        if target < self.state.end:
            self.attempt(lambda: self.log.truncate_to(target), maybe=maybe, after=after)

    @rule(place=st.integers(0, 10**6))
    def snapshot(self, place: int) -> None:
        """Of what is synced: a state machine sees nothing else."""
        synced = [b for b in self.state.batches if b.end_offset <= self.state.synced]
        if not synced:
            return
        last = synced[place % len(synced)]
        snapshot_id = OffsetAndEpoch(last.end_offset, last.epoch)
        if snapshot_id in self.state.snapshots:
            return

        def act() -> None:
            writer = self.log.snapshots.write(snapshot_id, 1, ())
            writer.append([b"state"])
            writer.freeze()

        self.attempt(
            act,
            maybe=replace(self.state, doubtful=self.state.doubtful | {snapshot_id}),
            after=replace(self.state, snapshots=self.state.snapshots | {snapshot_id}),
        )

    @precondition(lambda self: self.state.snapshots)
    @rule(place=st.integers(0, 10**6))
    def trim(self, place: int) -> None:
        """Start the log at a snapshot and delete the older ones."""
        chosen = sorted(self.state.snapshots, key=election_order)[place % len(self.state.snapshots)]
        older = {s for s in self.state.snapshots if election_order(s) < election_order(chosen)}
        if chosen.offset < self.state.start:
            return

        def act() -> None:
            self.log.advance_log_start(chosen.offset)
            self.log.snapshots.delete(sorted(older))

        kept = self.state.snapshots - older
        after = replace(self.state, starts=(chosen.offset,), snapshots=kept)
        starts = (self.state.start, chosen.offset)
        maybe = replace(self.state, starts=starts, snapshots=kept, doubtful=frozenset(older))
        self.attempt(act, maybe=maybe, after=after)

    @rule(ahead=st.integers(1, 50))
    def restart_at_a_fetched_snapshot(self, ahead: int) -> None:
        self.epoch += 1
        snapshot_id = OffsetAndEpoch(self.state.end + ahead, self.epoch)
        content = snapshot_bytes(snapshot_id)

        def act() -> None:
            for position in range(0, len(content), 50):
                self.log.snapshots.write_part(
                    snapshot_id, position, content[position : position + 50]
                )
            self.log.snapshots.freeze(snapshot_id)
            self.log.reset_to(snapshot_id)

        after = State(
            synced=snapshot_id.offset,
            starts=(snapshot_id.offset,),
            snapshots=frozenset({snapshot_id}),
            votes=self.state.votes,
        )
        self.attempt(act, maybe=self.state, after=after, instead=after)

    @rule(epoch=st.integers(1, 100))
    def vote(self, epoch: int) -> None:
        vote = ElectionState(epoch, voted=ReplicaKey(epoch % 3))
        self.attempt(
            lambda: QuorumStateFile(self.disk, FOLDER).write(vote),
            maybe=replace(self.state, votes=(*self.state.votes, vote)),
            after=replace(self.state, votes=(vote,)),
        )

    @rule()
    def restart(self) -> None:
        def act() -> None:
            self.log.close()
            self.log = open_log(self.disk, FOLDER, CONFIG)
            assert self.log.repairs == []

        after = replace(self.state, synced=self.state.end)
        self.attempt(act, maybe=self.state, after=after)

    @invariant()
    def log_is_what_the_model_says(self) -> None:
        if not self.disk.is_armed:
            self.check(self.state)
            assert self.log.log_end == self.state.end

    def attempt(
        self,
        act: Callable[[], object],
        *,
        maybe: State,
        after: State,
        instead: State | None = None,
    ) -> None:
        """maybe: what a crash in `act` leaves, or `instead`; after: what it leaves when done."""
        try:
            act()
        except (PowerLossError, FileSystemError):
            self.recover(maybe, instead)
        else:
            self.state = after

    def recover(self, maybe: State, instead: State | None = None) -> None:
        """Crash, open again (several times, where power goes again), and believe what is there."""
        for calls in (self.random.randrange(30), self.random.randrange(60), None):
            self.disk.faults = DiskFaults()
            self.disk.crash()
            self.disk.restart()
            self.disk.power_loss_in(calls)
            try:
                self.log = open_log(self.disk, FOLDER, CONFIG)
                break
            except PowerLossError:
                continue
        self.disk.power_loss_in(None)
        restarted = instead is not None and self.log.log_start == instead.start
        self.check(instead if restarted and instead else maybe)
        self.adopt(maybe)

    def check(self, allowed: State) -> None:
        start, end = self.log.log_start, self.log.log_end
        assert start in allowed.starts
        assert end >= allowed.synced
        expected = [b for b in allowed.batches if b.end_offset > start and b.end_offset <= end]
        found = list(self.log.batches(start, end))
        assert [b.data for b in found] == [bytes_of(b) for b in expected]
        assert end == (found[-1].end_offset if found else start)

        facts = self.log.facts()
        assert all(epoch_for_offset(facts.epochs, b.last_offset) == b.epoch for b in found)
        if found:
            assert facts.epochs[-1].epoch == found[-1].epoch
        elif facts.epochs:
            assert OffsetAndEpoch(start, facts.epochs[-1].epoch) in allowed.snapshots
        snapshots = [each.snapshot_id.offset for each in facts.snapshots]
        control = [b for b in found if b.control and b.base_offset >= max(snapshots, default=0)]
        assert list(facts.control_batches) == control

        there = {facts.snapshot_id for facts in facts.snapshots}
        needed = {snapshot for snapshot in allowed.snapshots if snapshot.offset >= start}
        assert needed <= there <= allowed.snapshots | allowed.doubtful
        for snapshot in there:
            assert self.log.snapshots.read(snapshot, 0, 10**6) == snapshot_bytes(snapshot)
        with self.disk.inspected():  # it writes the file again
            assert QuorumStateFile(self.disk, FOLDER).read() in allowed.votes

    def adopt(self, maybe: State) -> None:
        """What was found after a crash is safe from now on."""
        start, end = self.log.log_start, self.log.log_end
        vote = QuorumStateFile(self.disk, FOLDER).read()
        kept = tuple(b for b in maybe.batches if b.end_offset <= end) if end > start else ()
        self.state = State(kept, end, (start,), frozenset(self.log.snapshots), votes=(vote,))


def snapshot_bytes(snapshot_id: OffsetAndEpoch) -> bytes:
    """The snapshot that every replica makes at this place."""
    disk = SimulatedDisk(Random(1))
    snapshots = open_log(disk, "/other").snapshots
    writer = snapshots.write(snapshot_id, 1, ())
    writer.append([b"state"])
    size = writer.freeze().size
    return snapshots.read(snapshot_id, 0, size)


def tell_a_story(machine: CrashingLog) -> None:
    """Every kind of change, once at least where it meets the others."""
    machine.append([1, 4, 1, 4, 2, 3], elects=True)
    machine.flush()
    machine.vote(1)
    machine.append([2, 2, 4], elects=True)
    machine.snapshot(2)
    machine.truncate(5)
    machine.append([4, 1, 1, 4], elects=True)
    machine.flush()
    machine.vote(2)
    machine.append([3, 3, 1], elects=False)
    machine.truncate(30)
    machine.append([4, 4, 4, 4], elects=True)
    machine.flush()
    machine.snapshot(7)
    machine.trim(1)
    machine.restart()
    machine.restart_at_a_fetched_snapshot(7)
    machine.append([4, 4, 4], elects=True)
    machine.flush()
    machine.snapshot(2)
    machine.trim(1)
    machine.append([2], elects=False)
    machine.truncate(30)
    machine.restart()
    machine.log_is_what_the_model_says()


def lose_power_in_each_call(seed: int) -> None:
    whole = CrashingLog()
    before = whole.disk.calls
    tell_a_story(whole)
    for calls in range(whole.disk.calls - before):
        machine = CrashingLog()
        machine.random.seed(1_000 * calls + seed)
        machine.disk.power_loss_in(calls)
        tell_a_story(machine)


@pytest.mark.scenario("I13")
@pytest.mark.parametrize("seed", range(examples(3, least=1)))
def test_power_may_go_in_any_call_of_a_story(seed: int) -> None:
    lose_power_in_each_call(seed)


@pytest.mark.parametrize("what", ["_Inode", "_Folder"])
def test_a_disk_that_lies_about_its_syncs_is_found_out(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"replica.simulate.disk.{what}.sync", lambda self, *_: None)
    with pytest.raises((AssertionError, DataError)):
        lose_power_in_each_call(0)


TestCrashingLog = CrashingLog.TestCase
TestCrashingLog.settings = settings(stateful_step_count=40)
