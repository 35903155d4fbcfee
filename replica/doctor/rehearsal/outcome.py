"""The outcome of one run: which node leads, and how much of each captured log is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replica.doctor.rehearsal.captured import CapturedNode, CapturedQuorum
from replica.doctor.rehearsal.quorum import RehearsedQuorum
from replica.doctor.rehearsal.step import Scenario
from replica.format.batch import decode_header
from replica.history.commitment import Commitment, EntryCommitment, Losses
from replica.history.divergence import compare
from replica.history.log import LogBatch, OffsetRange, ReplicaLog, contiguous_runs
from replica.history.ranges import Ranges, below, difference, intersection, union
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.simulate.host import SimulatedHost
from replica.simulate.node import key_of
from replica.simulate.scenarios.quorum import Capture
from replica.storage.batches import bytes_of


@dataclass(frozen=True, slots=True)
class Fate:
    """What happened in a run to the captured log of a running node."""

    node_id: int
    truncated: OffsetRange | None
    """The offsets that were truncated; None if the log was not truncated."""
    epochs: tuple[int, ...]
    """The epochs of the truncated records."""
    replaced_by: OffsetAndEpoch | None
    """The id of the leader's snapshot that replaced the log; None if the log was not replaced."""
    lost: Ranges
    """The offsets of captured entries that the leader lacks."""
    losses: Losses
    """The number of the entries at `lost`, by their commitment."""
    is_behind: bool
    """Whether the node lacks a part of the leader's log."""
    has_new_disk: bool
    """Whether a step replaced the node's disk."""
    other: Ranges = ()
    """The offsets of lost entries that the node never truncates, although the leader has other
    entries there: the captured logs conflict."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run."""

    leader: int | None
    """The id of the node that leads at the end and has committed a record of its epoch; None if
    there is no such node."""
    fates: tuple[Fate, ...]
    committed_lost: Ranges
    """The offsets of records that the capture proves to be committed, and that the leader's log
    lacks."""
    unproven_lost: Ranges
    """The offsets of lost records that may have been committed, either before the capture, or in a
    step before another step that replaced a disk."""
    failed: tuple[tuple[int, str], ...]
    """(node id, reason) for each node that could not go on, or that was not added to or removed
    from the voters as the step asks."""

    @property
    def behind(self) -> tuple[int, ...]:
        """The running nodes that lack a part of the leader's log."""
        return tuple(fate.node_id for fate in self.fates if fate.is_behind)


@dataclass(frozen=True, slots=True)
class RehearsedRun:
    """One run with its outcome."""

    seed: int
    outcome: Outcome
    epoch: int | None
    """The epoch of the leader at the end; None without a leader."""


def rehearse(captured: CapturedQuorum, scenario: Scenario, seed: int) -> RehearsedRun:
    """Run all steps, beginning with the captured disks. Equal arguments give equal runs. The
    captured directories are not changed."""
    quorum = _played(captured, scenario, seed)
    leader = quorum.leader()
    epoch = None if leader is None else leader.raft.role.epoch
    return RehearsedRun(seed, _outcome(quorum, leader, scenario), epoch)


def disks_after(captured: CapturedQuorum, scenario: Scenario, seed: int) -> Capture:
    """The files on all disks at the end of a run. The function repeats the run, because the disks
    of many runs would fill the memory."""
    quorum = _played(captured, scenario, seed)
    ended = captured.newest_timestamp + quorum.simulation.now
    return Capture(captured.cluster_id, ended, quorum.files())


def _played(captured: CapturedQuorum, scenario: Scenario, seed: int) -> RehearsedQuorum:
    quorum = RehearsedQuorum(captured, seed)
    for step in scenario.steps:
        quorum.play(step)
    return quorum


def _outcome(quorum: RehearsedQuorum, leader: SimulatedHost | None, scenario: Scenario) -> Outcome:
    captured = quorum.captured
    lost = {} if leader is None else dict(_lacking(captured, _log_of(quorum, leader)))
    fates = tuple(
        _fate(quorum, node, lost.get(node_id, ()), leader)
        for node_id, node in sorted(captured.nodes.items())
        if quorum.simulation.nodes[node_id].host is not None
    )

    def lost_by(commitment: Commitment, verdict: EntryCommitment) -> Ranges:
        ranges = {i: commitment.ranges(captured.nodes[i].key, verdict) for i in lost}
        return union(*(intersection(lost[i], ranges[i]) for i in lost))

    # what no majority held may be committed by a step, and lost by another that replaces a disk
    known = captured.by_logs if scenario.replaces_late else captured.commitment

    return Outcome(
        None if leader is None else key_of(leader).node_id,
        fates,
        lost_by(captured.commitment, EntryCommitment.PROVEN),
        lost_by(known, EntryCommitment.UNPROVEN),
        tuple(sorted({**quorum.refused, **quorum.failed}.items())),
    )


def _lacking(captured: CapturedQuorum, leader: ReplicaLog) -> Iterator[tuple[int, Ranges]]:
    """(node id, the offsets of the node's captured entries that the leader lacks). The leader's
    snapshot holds the committed entries below its log start, but no superseded entries."""
    above = OffsetRange(leader.log_start, max(leader.log_start, captured.end_offset))
    for node_id, node in captured.nodes.items():
        held = contiguous_runs(node.log.batches)
        own = difference(held, compare(leader, node.log).ranges(same=True))
        superseded = captured.commitment.ranges(node.key, EntryCommitment.SUPERSEDED)
        yield node_id, union(intersection(own, (above,)), below(superseded, leader.log_start))


def _fate(
    quorum: RehearsedQuorum, node: CapturedNode, lost: Ranges, leader: SimulatedHost | None
) -> Fate:
    node_id, end = node.key.node_id, node.log.end_offset
    host = quorum.simulation.nodes[node_id].running
    has_new_disk = node_id in quorum.replaced
    kept = end if has_new_disk else quorum.watch.kept[node_id]
    gone = [b.epoch for b in node.log.batches if b.last_offset >= kept]
    is_behind = leader is not None and host.raft.log.position != leader.raft.log.position
    other: Ranges = ()
    has_followed = kept < end or not is_behind
    if has_followed and not has_new_disk and node_id not in quorum.watch.replaced:
        other = below(lost, kept)
    return Fate(
        node_id,
        OffsetRange(kept, end) if kept < end else None,
        tuple(sorted(set(gone))),
        None if has_new_disk else quorum.watch.replaced.get(node_id),
        lost,
        quorum.captured.commitment.counted(node.key, lost),
        is_behind,
        has_new_disk,
        other,
    )


def _log_of(quorum: RehearsedQuorum, host: SimulatedHost) -> ReplicaLog:
    """The log of a running replica. It has only the readable batches of the captured log."""
    key, log = key_of(host), host.log
    node = quorum.captured.nodes.get(key.node_id)
    batches: list[LogBatch] = []
    start = log.log_start
    is_first = key.node_id not in {*quorum.replaced, *quorum.watch.replaced}
    if node is not None and is_first:
        start = max(start, quorum.watch.kept[key.node_id])
        batches += [batch for batch in node.log.batches if batch.last_offset < start]
    with host.disk.inspected():
        batches += map(_entry, log.batches(start, log.log_end))
    snapshots = tuple(facts.snapshot_id for facts in log.snapshots.facts())
    return ReplicaLog(key, log.log_start, tuple(batches), snapshots)


def _entry(written: Batch) -> LogBatch:
    header = decode_header(bytes_of(written))
    digest = (header.crc, header.size_bytes)
    return LogBatch(written.base_offset, written.last_offset, written.epoch, digest)
