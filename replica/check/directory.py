"""All rules over one examined directory, in one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replica.check.catalogue import log
from replica.check.damaged import file_damage, log_damage
from replica.check.epoch_checkpoint import judge_epoch_checkpoint
from replica.check.epochs import (
    EpochRun,
    LeaderChangeBatch,
    epoch_runs,
    judge_churn,
    judge_epochs,
    judge_sizes,
    leader_changes,
)
from replica.check.examined import Examined
from replica.check.indexes import judge_indexes, judge_leftovers
from replica.check.records import NotedRecords, judge_transactions, note_records
from replica.check.replaying import Replayed
from replica.check.rule import Finding
from replica.check.snapshots import (
    SnapshotVerdict,
    judge_bootstrap,
    judge_log_start,
    snapshot_verdicts,
)
from replica.check.state_files import judge_state_files, known_of
from replica.metadata.image import Image, Refusal
from replica.types import OffsetAndEpoch


@dataclass(frozen=True)
class Facts:
    """What several rules need of one directory, gathered once."""

    examined: Examined
    changes: tuple[LeaderChangeBatch, ...]
    runs: tuple[EpochRun, ...]
    noted: NotedRecords


def gather(examined: Examined) -> Facts:
    """Pass over the log's batches and records."""
    changes = leader_changes(examined)
    return Facts(examined, changes, epoch_runs(examined, changes), note_records(examined))


def judge_directory(facts: Facts, replayed: Replayed) -> Iterator[Finding]:
    """Every finding but those about snapshots, in no order; files relative to the node's."""
    examined = facts.examined
    yield from file_damage(examined)
    yield from log_damage(examined)
    yield from judge_epochs(facts.runs)
    yield from judge_churn(facts.changes)
    yield from judge_sizes(examined)
    yield from judge_epoch_checkpoint(examined, facts.runs)
    yield from judge_state_files(examined, known_of(examined, facts.runs, facts.changes))
    yield from judge_indexes(examined)
    yield from judge_leftovers(examined)
    yield from judge_log_start(examined)
    yield from judge_bootstrap(examined)
    yield from judge_transactions(facts.noted.transactions)
    logs = {segment.file.path for segment in examined.directory.segments}
    yield from (finding for finding in facts.noted.findings if finding.file in logs)
    yield from _judge_refusal(replayed)


def judge_snapshots(
    facts: Facts, images: Mapping[OffsetAndEpoch, Image]
) -> Iterator[SnapshotVerdict]:
    """The verdicts on the directory's snapshots; images: replayed states by end, of this log or of
    others on its lineage."""
    noted = facts.noted
    return snapshot_verdicts(facts.examined, noted.transactions, noted.findings, images)


def describe_refusal(refusal: Refusal, count: int) -> str:
    """The first of `count` records that can't be applied, and the earlier ones that explain it."""
    because = ""
    if refusal.because:
        offsets = ", ".join(str(offset) for offset in refusal.because)
        because = f"; see the record{'s' * (len(refusal.because) > 1)} at offset {offsets}"
    rest = f"; {count - 1} more can't be applied either" if count > 1 else ""
    return f"{refusal.record_type} at offset {refusal.offset}: {refusal.reason}{because}{rest}"


def _judge_refusal(replayed: Replayed) -> Iterator[Finding]:
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
