"""Runs of the simulator under faults, captured twice, and the truth about them: which records were
committed, which node led each epoch and how its lead ended, and which nodes were down.

After the captures the faults end, and the quorum recovers. Only then is it certain which records of
a captured log are committed for good, and which are lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import NamedTuple

from replica.errors import UnreadableFileError
from replica.format import meta_properties
from replica.format.meta_properties import FILE_NAME
from replica.history.log import LogBatch, ReplicaLog
from replica.model.control import LeaderChange
from replica.model.keys import ReplicaId, ReplicaKey
from replica.raft.effects import Effects
from replica.raft.roles import Leader, Resigned
from replica.simulate.faulty_run import FaultyRun
from replica.simulate.host import SimulatedHost
from replica.simulate.ledger import LedgerBatch
from replica.simulate.metadata_records import uuid_of
from replica.simulate.node import Layout, SimulatedMachine, key_of
from replica.simulate.node_files import files_on
from replica.simulate.scenarios.quorum import START_MS, Capture
from tests.contradictions.fleet import Fleet


class End(Enum):
    """The way in which a leader stopped leading."""

    PROCESS_ENDED = "process ended"
    RESIGNED = "resigned"
    OVERRULED = "heard of a newer epoch"


class Entry(NamedTuple):
    """A batch. Its offsets are inclusive."""

    base: int
    last: int
    epoch: int
    crc: int


@dataclass(frozen=True)
class Reign:
    """One epoch's leader. began_ms, ended_ms: simulated time. ended: None where it continued to
    lead."""

    epoch: int
    leader: ReplicaKey
    start: int
    began_ms: int
    ended: End | None = None
    ended_ms: int | None = None


@dataclass(frozen=True)
class Truth:
    """What the simulator knows.

    committed_then: the committed batches at the newest capture, by base offset.
    committed: the committed batches at the end, when all faults have ended.
    end_then: the end (exclusive) of committed_then.
    reigns: by epoch, all leaders that have written their LeaderChange.
    down: the nodes that were down at the newest capture, each with the end (exclusive) of what it
        had flushed. A power cut may have torn everything above that end.
    starts: (time in simulated ms, node id) of each start of a replica.
    voters: the voters in force at the committed end.
    states: the image after each committed batch, by the batch's end offset (exclusive).
    """

    committed_then: Mapping[int, Entry]
    committed: Mapping[int, Entry]
    end_then: int
    reigns: Mapping[int, Reign]
    down: Mapping[int, int]
    starts: tuple[tuple[int, int], ...]
    voters: frozenset[ReplicaKey]
    states: Mapping[int, object]
    nodes: int

    def lacks(self, log: ReplicaLog) -> list[Entry]:
        """The batches that were committed at the newest capture and that the log lacks. A snapshot
        has the batches below the log's start."""
        held = {entry_of(batch) for batch in log.batches}
        start = max((log.log_start, *(one.offset for one in log.snapshots)))
        wanted = (one for one in self.committed_then.values() if one.last >= start)
        return [one for one in wanted if one not in held]


def entry_of(batch: LogBatch) -> Entry:
    return Entry(batch.base_offset, batch.last_offset, batch.epoch, batch.digest[0])


def _entry(entry: LedgerBatch) -> Entry:
    return Entry(entry.base, entry.last, entry.epoch, int.from_bytes(entry.crc, "big"))


class CapturedRun(NamedTuple):
    """A captured run. captures: two captures, the earlier one first."""

    captures: tuple[Capture, Capture]
    truth: Truth


def captured_run(seed: int, events: int = 1600) -> CapturedRun:
    """A run of the simulator with this seed. The same seed gives the same run."""
    draws = Random(f"quorum of {seed}")
    run = _Run(seed, draws)
    run.run(events // 2)
    first = run.capture()
    run.run(events)
    second = run.capture()
    shadows = run.invariants.shadows
    down = {
        node.node_id: shadows[node.local.key].flushed if node.local.key in shadows else 0
        for node in run.nodes.values()
        if node.host is None
    }
    committed_then, end_then = run.committed(), run.invariants.ledger.end
    voters = run.invariants.ledger.voters_before(end_then).keys
    reigns = dict(run.reigns)
    run.settle()
    truth = Truth(
        committed_then,
        run.committed(),
        end_then,
        reigns,
        down,
        tuple(run.starts),
        voters,
        run.invariants.ledger.states,
        len(run.nodes),
    )
    return CapturedRun((first, second), truth)


class _Run(FaultyRun):
    def __init__(self, seed: int, draws: Random) -> None:
        voters = draws.choice((3, 3, 5))
        is_combined = draws.random() < 0.5
        workload = Fleet(range(1 if is_combined else voters + 1, voters + 3))
        self.cluster_id = uuid_of(f"cluster of seed {seed}")
        self.reigns: dict[int, Reign] = {}
        self.starts: list[tuple[int, int]] = []
        self._leading: dict[int, int] = {}
        super().__init__(
            seed,
            Layout(
                voters=voters,
                observers=2,
                is_static=draws.random() < 0.25,
                auto_joins=seed % 4 == 3,
                workload=workload,
                quorum=self.cluster_id[:16],
            ),
        )
        workload.nodes = self.nodes
        for node in self.nodes.values():
            node.offset_ms, node.drift = START_MS, 0

    def capture(self) -> Capture:
        """All disks at present, with a meta.properties as the machine's formatting has written it.
        A disk that was wiped and not started since holds nothing."""
        files = {}
        for node in self.nodes.values():
            try:
                written = files_on(node)
            except UnreadableFileError:
                continue
            owner = ReplicaId(self.cluster_id, node.node_id, node.local.key.directory_id)
            named = meta_properties.encode(meta_properties.new_meta_properties(owner))
            files[node.node_id] = {FILE_NAME: named, **written}
        return Capture(self.cluster_id, START_MS + self.now, files)

    def committed(self) -> dict[int, Entry]:
        return {base: _entry(one) for base, one in self.invariants.ledger.entries.items()}

    def append(self, node, batches, time_ms: int) -> None:  # type: ignore[no-untyped-def]
        super().append(node, batches, START_MS + time_ms)

    def kill(self, node: SimulatedMachine) -> None:
        role = None if node.host is None else node.host.raft.role
        if isinstance(role, Leader) and role.epoch not in self.reigns:
            # the power was cut in the step in which it wrote the record, so `_stepped` never saw it
            self.reigns[role.epoch] = Reign(role.epoch, role.local, role.epoch_start, self.now)
            self._leading[node.node_id] = role.epoch
        self._ends(node.node_id, End.PROCESS_ENDED)
        super().kill(node)

    def _shut_down(self, node: SimulatedMachine) -> None:
        self._ends(node.node_id, End.PROCESS_ENDED)
        super()._shut_down(node)

    def _start(self, node: SimulatedMachine) -> None:
        self.starts.append((self.now, node.node_id))
        super()._start(node)

    def _stepped(self, host: SimulatedHost, effects: Effects) -> None:
        super()._stepped(host, effects)
        key, role = key_of(host), host.raft.role
        epoch = self._leading.get(key.node_id)
        if epoch is not None and not (isinstance(role, Leader) and role.epoch == epoch):
            self._ends(key.node_id, End.RESIGNED if isinstance(role, Resigned) else End.OVERRULED)
        for batch in effects.append:
            for one in batch.control:
                # a leader may be deposed in the step in which it writes the record
                is_own = isinstance(one, LeaderChange) and one.leader_id == key.node_id
                if is_own and batch.epoch not in self.reigns:
                    self.reigns[batch.epoch] = Reign(batch.epoch, key, batch.base_offset, self.now)
                    self._leading[key.node_id] = batch.epoch
                    if not isinstance(role, Leader):
                        self._ends(key.node_id, End.OVERRULED)

    def _ends(self, node_id: int, end: End) -> None:
        epoch = self._leading.pop(node_id, None)
        if epoch is not None:
            self.reigns[epoch] = replace(self.reigns[epoch], ended=end, ended_ms=self.now)
