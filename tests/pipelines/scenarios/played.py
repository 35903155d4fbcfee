"""Named scenarios, run on past their decisive moment: the content of all disks at up to three
moments, and the chronicle of what led to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import cast

from replica.format import meta_properties
from replica.format.frames import frames
from replica.model.keys import ReplicaKey
from replica.raft.roles import Candidate, Follower, Leader
from replica.simulate.ledger import LedgerBatch
from replica.simulate.node import SimulatedMachine, key_of
from replica.simulate.node_files import Files
from replica.simulate.scenarios.quorum import Capture, ScriptedQuorum
from replica.simulate.scenarios.scenario import NamedScenario
from tests.pipelines.scenarios.chronicle import BatchId, Begun, Chronicle

BEFORE, TOLD, HEALED = "before", "told", "healed"
ORDER = (BEFORE, TOLD, HEALED)
"""The moments: right before the last crash, or else the first cut; the decisive moment, with
changed files where the scenario says so; and after all nodes have joined again."""

_CRC = slice(17, 21)
_SEGMENT = ".log"


@dataclass(frozen=True)
class Standing:
    """What a running replica knew itself. role: empty for a role that its files don't show.
    leader_id: -1 for none. Ends are exclusive."""

    role: str
    epoch: int
    leader_id: int
    log_start: int
    log_end: int
    high_watermark: int
    voters: frozenset[tuple[int, str]]


@dataclass(frozen=True)
class Moment:
    """A moment. standings: by node, without nodes that are down. lost: the number of the
    chronicle's losses that had happened. committed: the batches that were committed by then.
    tampered: the node whose files are not what it wrote."""

    name: str
    capture: Capture
    standings: dict[int, Standing]
    lost: int
    committed: frozenset[BatchId]
    tampered: int | None = None

    def is_tampered_with(self, *node_ids: int) -> bool:
        """Whether one of these nodes is the tampered one."""
        return self.tampered in node_ids

    def replicas(self) -> dict[ReplicaKey, Files]:
        """The files of all disks by replica."""
        return {_key(files): files for files in self.capture.files.values()}


@dataclass(frozen=True)
class Played:
    """A scenario that was run. moments: the captured moments, in the order of ORDER; TOLD is always
    among them. branch: what is committed at the end; where promises were broken, the log of the
    last leader."""

    scenario: NamedScenario
    cluster_id: str
    chronicle: Chronicle
    moments: tuple[Moment, ...]
    branch: tuple[LedgerBatch, ...]

    def at(self, name: str) -> Moment:
        """The moment of this name. Raises KeyError where the scenario has none."""
        return {moment.name: moment for moment in self.moments}[name]


class _Captured(ScriptedQuorum):
    """A quorum that captures itself before the faults of its script."""

    def __init__(self, scenario: NamedScenario) -> None:
        super().__init__(scenario.name, scenario.layout, invariants=Chronicle)
        self.before: Moment | None = None

    @property
    def chronicle(self) -> Chronicle:
        return cast(Chronicle, self.simulation.invariants)

    def crash(self, *node_ids: int) -> None:
        self.before = self.moment(BEFORE)
        super().crash(*node_ids)

    def cut(self, side: object) -> None:
        if self.before is None:
            self.before = self.moment(BEFORE)
        super().cut(side)  # type: ignore[arg-type]

    def moment(self, name: str) -> Moment:
        capture, chronicle = self.capture(), self.chronicle
        standings = {
            node.node_id: _standing(node) for node in self.nodes.values() if node.host is not None
        }
        committed = frozenset(chronicle.committed)
        return Moment(name, capture, standings, len(chronicle.lost), committed)


def play(scenario: NamedScenario) -> Played:
    """Runs a scenario. The result is the same each time."""
    quorum = _Captured(scenario)
    scenario.script(quorum)
    before, told = quorum.before, quorum.moment(TOLD)
    moments = [told] if before is None or not before.standings else [before, told]
    if scenario.tampering is not None:
        capture, node_id = scenario.tampered(told.capture), scenario.tampering.node_id
        moments[-1] = replace(told, capture=capture, tampered=node_id)
    else:
        _heal(quorum, scenario)
        moments.append(quorum.moment(HEALED))
    branch = _branch(quorum, is_safe=scenario.is_safe)
    return Played(scenario, quorum.cluster_id, quorum.chronicle, tuple(moments), branch)


def batches(files: Files) -> dict[int, BatchId]:
    """The batches of a disk's undamaged log, by base offset."""
    found = {}
    for path, data in sorted(files.items()):
        if path.endswith(_SEGMENT):
            for frame in frames(data, start=0, expected_offset=None, check_crc=False):
                crc = data[frame.position :][_CRC]
                base = frame.base_offset
                found[base] = BatchId(base, frame.last_offset, frame.epoch, crc)
    return found


def seen_epochs(played: Played) -> list[Begun]:
    """The epochs whose LeaderChange is on some captured disk."""
    disks = [files for moment in played.moments for files in moment.capture.files.values()]
    seen = {(batch.base, batch.epoch) for files in disks for batch in batches(files).values()}
    return [begun for begun in played.chronicle.begun if (begun.start, begun.epoch) in seen]


def vanished(played: Played) -> dict[tuple[ReplicaKey, datetime], list[BatchId]]:
    """The batches that each replica lost between two moments, of the batches that the first moment
    shows."""
    found: dict[tuple[ReplicaKey, datetime], list[BatchId]] = {}
    for earlier, later in pairwise(played.moments):
        losses = played.chronicle.lost[earlier.lost : later.lost]
        now = {key: batches(files) for key, files in later.replicas().items()}
        for key, files in earlier.replicas().items():
            held = batches(files).values()
            cut = {lost.batch for lost in losses if lost.key == key}
            gone = [one for one in held if one in cut and one not in now.get(key, {}).values()]
            if gone:
                found[key, moment_of(later.capture.captured_at_ms)] = gone
    return found


def moment_of(ms: int) -> datetime:
    """A time in ms since 1970 as UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def _heal(quorum: _Captured, scenario: NamedScenario) -> None:
    """Restores links and power. After a scenario that breaks what Raft relies on, no running
    replica may truncate what it knows to be committed. So an operator restarts the replicas that
    run, and leaves the others off."""
    quorum.heal()
    nodes = [node.node_id for node in quorum.nodes.values() if node.host is not None]
    if scenario.is_safe:
        nodes = [node_id for node_id in quorum.nodes if node_id not in nodes]
    else:
        ScriptedQuorum.crash(quorum, *nodes)
    quorum.start(*nodes)
    quorum.settle()


def _branch(quorum: _Captured, *, is_safe: bool) -> tuple[LedgerBatch, ...]:
    if is_safe:
        return tuple(sorted(quorum.chronicle.committed.values()))
    leader = quorum.simulation.leader()
    assert leader is not None, "all have settled on a leader's log"
    return tuple(quorum.chronicle.shadows[key_of(leader.running)].entries)


def _standing(node: SimulatedMachine) -> Standing:
    raft = node.running.raft
    voters = {(voter.key.node_id, voter.key.directory_id) for voter in raft.log.voters}
    return Standing(
        _role(node),
        raft.role.epoch,
        raft.role.leader_id,
        raft.log.log_start,
        raft.log.log_end,
        raft.high_watermark or 0,
        frozenset(voters),
    )


def _role(node: SimulatedMachine) -> str:
    raft = node.running.raft
    match raft.role:
        case Leader():
            return "leader"
        case Follower():
            return "follower" if raft.log.voters.is_voter(node.local.key) else "observer"
        case Candidate():
            return "candidate"
    return ""


def _key(files: Files) -> ReplicaKey:
    replica = meta_properties.decode(files["meta.properties"]).replica
    assert replica is not None, "the simulator writes whole ones"
    return replica.key
