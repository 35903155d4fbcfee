"""Compares the logs of one cluster with each other: where they diverge or conflict, and which
records would be lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from replica.doctor.check.catalogue import groups
from replica.doctor.check.examined import Examined
from replica.doctor.check.known_quorum import ComparedLogs, known_quorum_of
from replica.doctor.check.rule import Finding
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.doctor.quorum.reasons import IF_STOPPED
from replica.history.commitment import (
    Commitment,
    GroupComparison,
    Losses,
    losses,
)
from replica.history.divergence import Divergence, Relation, diverge
from replica.history.log import OffsetRange
from replica.model.keys import ReplicaKey
from replica.words import duration_text, up_to


@dataclass(frozen=True, slots=True)
class LogParting:
    """The place where the log of `loser` diverges from other logs. Equal partings from several logs
    become one finding."""

    loser: ReplicaKey
    offset: int
    """The first offset at which the logs differ."""
    epoch: int
    """The epoch at this offset in the log of `loser`."""
    other_epoch: int
    """The epoch at this offset in the other logs."""
    truncates_to: int | None
    """The end (exclusive) of the log of `loser` after its truncation; None if neither log would win
    an election."""
    records: int | None
    """The number of records that the log of `loser` loses by this truncation; None if
    `truncates_to` is None."""
    lost: Losses | None
    """The lost records, counted by their commitment; None if `truncates_to` is None."""
    if_stopped: bool = False
    """Whether some lost records count as never committed only if no node ran while the directories
    were copied (see ComparedLogs.settled)."""
    others: tuple[int, ...] = ()
    """The nodes of the other logs. Empty while the caller passes them separately (see partings_of).
    """


def judge_lineage(clusters: Iterable[ComparedLogs]) -> Iterator[Finding]:
    """Findings of the comparison of every pair of logs of each cluster."""
    for logs in clusters:
        yield from _judge_cluster(logs)


def _judge_cluster(logs: ComparedLogs) -> Iterator[Finding]:
    by_key = {log.key: one for one, log in logs.members}
    if logs.left_out:
        first, count = logs.left_out[0], len(logs.left_out)
        message = (
            f"this log, and {count - 1} more of its cluster, is compared with no other: "
            f"{len(logs.group.holding)} are compared with each other"
        )
        yield groups.GROUP_TOO_LARGE.at(first.shown, message)
    yield from _voters_behind(logs)
    conflicts: dict[tuple[ReplicaKey, int], list[int]] = {}
    for a, b, divergence in _divergences(logs):
        if divergence.relation is Relation.CONFLICT:
            offset = divergence.divergence_offset
            assert offset is not None, "logs in conflict differ at an offset"
            for one, other in ((a, b), (b, a)):
                conflicts.setdefault((one, offset), []).append(other.node_id)
    for (key, offset), others in sorted(conflicts.items()):
        path, position, epoch = _located(by_key[key], offset)
        found = judge_conflict(offset, epoch, others)
        yield replace(found, file=path, position=position)
    for parting, others in partings_of(logs).items():
        path, position, _ = _located(by_key[parting.loser], parting.offset)
        for found in judge_parting(parting, others):
            yield replace(found, file=path, position=position)
    yield from _contested(logs.group, logs.commitment, by_key)


def partings_of(logs: ComparedLogs) -> dict[LogParting, list[int]]:
    """The places where logs of one cluster diverge, each with the ids of the nodes from which the
    loser diverges."""
    partings: dict[LogParting, list[int]] = {}
    for a, b, divergence, lost, if_stopped in settled_pairs(logs):
        if divergence.relation is Relation.DIVERGED:
            parting, other = _parting(a, b, divergence, lost, if_stopped)
            partings.setdefault(parting, []).append(other.node_id)
    return {replace(one, others=tuple(others)): others for one, others in partings.items()}


def settled_pairs(
    logs: ComparedLogs,
) -> Iterator[tuple[ReplicaKey, ReplicaKey, Divergence, Losses | None, bool]]:
    """Each pair of logs, with its divergence in view of all logs, and its settled_losses. If no
    replica will follow the log that wins between the two, the divergence names no truncating
    replica."""
    for a, b, divergence in _divergences(logs):
        yield a, b, *_among_all(a, b, divergence, logs)


def _among_all(
    a: ReplicaKey, b: ReplicaKey, divergence: Divergence, logs: ComparedLogs
) -> tuple[Divergence, Losses | None, bool]:
    """The pair's divergence among all logs, with its settled_losses. If no replica will follow the
    log that wins between the two, neither log is truncated to the other."""
    lost, if_stopped = settled_losses(divergence, logs)
    leader = a if divergence.truncating == b else b
    if lost is None or not lost.committed or leader not in logs.outvoted:
        return divergence, lost, if_stopped
    alone = replace(divergence, truncating=None, truncation_offset=None, records_lost=None)
    return alone, None, False


def settled_losses(divergence: Divergence, logs: ComparedLogs) -> tuple[Losses | None, bool]:
    """The losses of the truncating replica, and LogParting.if_stopped."""
    lost = losses(divergence, logs.commitment)
    if lost is None or not lost.unproven:
        return lost, False
    settled = losses(divergence, logs.settled)
    return settled, settled != lost


def _divergences(logs: ComparedLogs) -> Iterator[tuple[ReplicaKey, ReplicaKey, Divergence]]:
    log_of = {log.key: log for log in logs.group.logs}
    for (a, b), comparison in logs.group.pairs.items():
        yield a, b, diverge(log_of[a], log_of[b], comparison)


def _voters_behind(logs: ComparedLogs) -> Iterator[Finding]:
    for voter, finding in judge_voters(known_quorum_of(logs)):
        for examined, log in logs.members:
            if voter.key.matches(log.key):
                yield finding.in_file(examined.shown)


def judge_voters(quorum: KnownQuorum) -> Iterator[tuple[KnownVoter, Finding]]:
    """The findings about voters whose directories are older than the voters' own actions or than
    an earlier capture, or whose logs end long before the newest log. The caller adds the files."""
    for voter in (*quorum.voters, *quorum.leaving):
        if voter.doubt is VoterDoubt.STALE:
            yield voter, _stale(voter, quorum.log_end)
        elif voter.doubt is None and voter.behind_ms is not None:
            ends, lacks = duration_text(voter.behind_ms), voter.lacking(quorum.log_end)
            message = (
                f"voter {voter.key.node_id}: its log goes {up_to(voter.held_end or 0)}, and ends "
                f"{ends} before the newest log{lacks}"
            )
            yield voter, groups.VOTER_BEHIND.at("", message)


def _stale(voter: KnownVoter, log_end: int) -> Finding:
    rule = groups.STALE_VOTER
    if voter.went_back is not None:
        rule = groups.REPLICA_WENT_BACK
    elif voter.lacks_own is not None:
        rule = groups.LEADER_LACKS_OWN_RECORDS
    elif voter.is_emptied:
        rule = groups.VOTER_DISK_EMPTY
    told = f"{voter.why_stale}{voter.lacking(log_end)}"
    message = f"voter {voter.key.node_id}: {told}; it {voter.danger}"
    return rule.at("", message, epoch=voter.known_epoch)


def _parting(
    a: ReplicaKey, b: ReplicaKey, divergence: Divergence, lost: Losses | None, if_stopped: bool
) -> tuple[LogParting, ReplicaKey]:
    offset, epoch_a, epoch_b = divergence.divergence_offset, divergence.epoch_a, divergence.epoch_b
    assert offset is not None, "diverged logs have an offset"
    assert epoch_a is not None, "and an epoch there"
    assert epoch_b is not None, "each of them"
    loser, other, epoch, other_epoch = a, b, epoch_a, epoch_b
    if divergence.truncating == b:
        loser, other, epoch, other_epoch = b, a, epoch_b, epoch_a
    told = divergence.truncation_offset, divergence.records_lost
    return LogParting(loser, offset, epoch, other_epoch, *told, lost, if_stopped), other


def judge_conflict(offset: int, epoch: int | None, others: Sequence[int]) -> Finding:
    """A finding about a log that conflicts with the logs of other nodes. offset: the first offset
    at which the logs differ; every command names this offset. The caller adds file and byte."""
    verb = "holds" if len(others) == 1 else "hold"
    message = f"from offset {offset} on {_nodes(others)} {verb} other records"
    return groups.CONFLICT.at("", message, offset=offset, epoch=epoch)


def _nodes(ids: Sequence[int]) -> str:
    return ", ".join(f"node {node_id}" for node_id in ids)


def judge_parting(parting: LogParting, others: Sequence[int]) -> Iterator[Finding]:
    """The findings about a divergence, for the log of the loser. others: the ids of the nodes from
    which it diverges. The caller adds file and byte."""
    offset, lost = parting.offset, parting.lost
    message = (
        f"parts from {_nodes(others)} at offset {offset}: epoch {parting.epoch} here, "
        f"{parting.other_epoch} there"
    )
    if lost is None:
        message += "; neither would win an election"
    else:
        message += (
            f"; following them it truncates to {parting.truncates_to} and loses {parting.records} "
            f"records: {lost.committed} committed, {lost.superseded} never committed"
            f"{f' ({IF_STOPPED})' if parting.if_stopped else ''}, {lost.unproven} unknown"
        )
    yield groups.LOG_DIVERGENCE.at("", message, offset=offset, epoch=parting.epoch)
    if lost is not None and lost.committed:
        message = f"{lost.committed} committed records would be truncated, from {offset} on"
        yield groups.COMMITTED_DATA_AT_RISK.at("", message, offset=offset, epoch=parting.epoch)


def _contested(
    compared: GroupComparison, commitment: Commitment, by_key: dict[ReplicaKey, Examined]
) -> Iterator[Finding]:
    for contested in commitment.contested:
        holders = [log for log in compared.logs if log.batch_at(contested.start) is not None]
        path, position, epoch = _located(by_key[holders[0].key], contested.start)
        found = judge_contested(contested, epoch)
        yield replace(found, file=path, position=position)


def judge_contested(contested: OffsetRange, epoch: int | None) -> Finding:
    """The finding about offsets at which two different records are proven to be committed. epoch:
    the epoch of the first such record in the first replica that holds it. The caller adds that
    replica's file and byte."""
    message = (
        f"offsets {contested.start} to {contested.end - 1} hold different records that are all "
        "proven committed"
    )
    return groups.COMMITTED_DATA_AT_RISK.at("", message, offset=contested.start, epoch=epoch)


def _located(examined: Examined, offset: int) -> tuple[str, int | None, int | None]:
    """(the user's name of the segment, byte, epoch) of the batch that holds `offset`. Without such
    a batch: the name of the directory, None, None."""
    found = examined.batch_at(offset)
    if found is None:
        return examined.shown, None, None
    segment, batch = found
    return examined.shown_file(segment.file.path), batch.position, batch.header.leader_epoch
