"""Judges one examined directory by all rules about single directories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from replica.doctor.check.catalogue import files, log
from replica.doctor.check.clock_steps import judge_clock
from replica.doctor.check.damaged import file_damage, log_damage, snapshot_damage
from replica.doctor.check.elections import IdleLeaders, idle_leaders, judge_elections
from replica.doctor.check.epoch_checkpoint import judge_epoch_checkpoint
from replica.doctor.check.epochs import EpochRun, epoch_runs, judge_churn, judge_epochs, judge_sizes
from replica.doctor.check.examined import Examined, LeaderChangeBatch
from replica.doctor.check.indexes import judge_indexes, judge_leftovers
from replica.doctor.check.partition import PartitionFolder, PartitionKind, partition_of
from replica.doctor.check.record_findings import NotedRecords, judge_transactions, note_records
from replica.doctor.check.replay_fold import FoldedImages
from replica.doctor.check.rule import Finding
from replica.doctor.check.snapshot_validity import (
    SnapshotVerdict,
    judge_log_start,
    snapshot_verdicts,
)
from replica.doctor.check.state_files import judge_state_files, known_of
from replica.metadata.image.image import Image
from replica.metadata.image.replay import Refusal
from replica.model.epochs import OffsetAndEpoch

OF_ANY_LOG = (log.CRC_MISMATCH, log.FRAMING, log.ZERO_HOLE, log.TORN_TAIL, log.TORN_SEGMENT)
"""The rules about damage that also hold for a partition of an ordinary topic. The other rules don't
hold for such a partition, because compaction removes offsets from its log."""


@dataclass(frozen=True)
class DirectoryFacts:
    """Values about one directory that several rules need, gathered once."""

    examined: Examined
    partition: PartitionFolder
    changes: tuple[LeaderChangeBatch, ...]
    runs: tuple[EpochRun, ...]
    noted: NotedRecords

    @cached_property
    def idle(self) -> IdleLeaders:
        """The newest leaders that changed nothing, found by reading the log's last batches."""
        return idle_leaders(self.examined)


def gather(examined: Examined) -> DirectoryFacts:
    """Gather the facts about a directory, by one pass over the log's batches and one over its
    records."""
    partition = partition_of(examined)
    changes = examined.leader_changes
    runs = epoch_runs(examined, changes)
    noted = NotedRecords((), (), {})
    if partition.is_of_a_quorum:
        noted = note_records(examined, is_metadata=partition.is_metadata)
    return DirectoryFacts(examined, partition, changes, runs, noted)


def judge_directory(facts: DirectoryFacts, replayed: FoldedImages) -> Iterator[Finding]:
    """Every finding except those about snapshots, in no particular order. Findings name files
    relative to the node's directory."""
    examined = facts.examined
    yield from judge_partition(facts.partition)
    yield from file_damage(examined)
    if not facts.partition.is_of_a_quorum:
        yield from (one for one in log_damage(examined) if one.rule in OF_ANY_LOG)
        return
    yield from log_damage(examined)
    yield from judge_epochs(facts.runs)
    yield from judge_churn(facts.changes)
    yield from judge_elections(facts.idle)
    yield from judge_clock(examined)
    yield from judge_sizes(examined)
    yield from judge_epoch_checkpoint(examined, facts.runs)
    yield from judge_state_files(examined, known_of(examined, facts.runs, facts.changes))
    yield from judge_indexes(examined)
    yield from judge_leftovers(examined)
    yield from judge_log_start(examined)
    if examined.directory.bootstrap is not None:
        yield from snapshot_damage(examined, examined.directory.bootstrap)
    yield from judge_transactions(facts.noted.transactions)
    logs = {segment.file.path for segment in examined.directory.segments}
    yield from (finding for finding in facts.noted.findings if finding.file in logs)
    yield from _judge_replay(replayed)


def judge_snapshots(
    facts: DirectoryFacts, images: Mapping[OffsetAndEpoch, Image]
) -> Iterator[SnapshotVerdict]:
    """The verdicts on the directory's snapshots. images: replayed states by their end (exclusive)
    and epoch; they come from this log, or from other logs of its cluster."""
    noted, is_metadata = facts.noted, facts.partition.is_metadata
    return snapshot_verdicts(
        facts.examined, noted.transactions, noted.findings, images if is_metadata else None
    )


def judge_partition(partition: PartitionFolder) -> Iterator[Finding]:
    """The finding about a partition whose log isn't a metadata log."""
    if partition.kind is PartitionKind.ORDINARY:
        yield files.ORDINARY_TOPIC.at("", f"{partition.what}: only its bytes were checked")
    elif not partition.is_metadata:
        yield files.NO_METADATA_LOG.at("", f"{partition.what}: its records were not decoded")


def describe_refusal(refusal: Refusal, count: int) -> str:
    """A text about the first of `count` records that can't be applied, and the earlier records that
    explain it."""
    because = ""
    if refusal.because:
        offsets = ", ".join(str(offset) for offset in refusal.because)
        because = f"; see the record{'s' * (len(refusal.because) > 1)} at offset {offsets}"
    rest = f"; {count - 1} more can't be applied either" if count > 1 else ""
    return f"{refusal.record_type} at offset {refusal.offset}: {refusal.reason}{because}{rest}"


def _judge_replay(replayed: FoldedImages) -> Iterator[Finding]:
    if replayed.left_out:
        yield files.UNREADABLE.at("", f"its log was not replayed: {replayed.left_out}")
    first = replayed.first_refused
    if first is None:
        return
    yield log.UNAPPLIABLE_RECORD.at(
        first.path,
        describe_refusal(first.refusal, replayed.refused_count),
        position=first.position,
        offset=first.refusal.offset,
        epoch=first.epoch,
    )
