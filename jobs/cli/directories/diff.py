"""`kraftlake diff`: two replicas' directories compared in words, without a lake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

from jobs.cli.commands.directories import DiffOptions
from jobs.cli.directories.notices import damage_lines, printed_at_the_end
from jobs.cli.directories.offsets_text import log_range, snapshot_text
from jobs.cli.output import ms_text, write_either
from jobs.cli.record_lines import opaque_text
from jobs.cli.redacting import make_redactor
from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.history_log import replica_log
from replica.doctor.check.known_quorum import ComparedLogs
from replica.doctor.check.lineage import settled_losses
from replica.doctor.check.partition import partition_of
from replica.doctor.quorum.reasons import IF_STOPPED
from replica.errors import UsageError
from replica.format.directory import MAX_READS
from replica.format.discovery import DirectoryPath, discover
from replica.format.record import Record
from replica.history.commitment import (
    EntryCommitment,
    Losses,
    classify_compared,
    compare_group,
    divergence_columns,
    losses,
)
from replica.history.divergence import Comparison, Divergence, Relation, diverge
from replica.history.log import OffsetRange, ReplicaLog, epochs_of
from replica.history.ranges import intersection
from replica.metadata.log_record import LogRecordReader
from replica.model.keys import ReplicaKey
from replica.scan.file_room import FileRoom
from replica.terminal_text import one_line
from replica.words import counted, up_to


@dataclass(frozen=True)
class LogDifference:
    """Two replicas, the relation of their logs, and what one of them would lose."""

    a: Examined
    b: Examined
    log_a: ReplicaLog
    log_b: ReplicaLog
    same_replica: bool
    """Whether both are one replica at two moments. Then log_b has an invented key."""
    comparison: Comparison
    divergence: Divergence
    logs: ComparedLogs
    """The two logs as `check` compares them, with what each proves about the other's records."""

    @cached_property
    def settled_losses(self) -> tuple[Losses | None, bool]:
        """(the losses of the truncating replica, or None where no replica truncates; whether some
        lost records count as never committed only if no node ran while the directories were
        copied). For two captures of one replica the second part is False: the losses are counted
        only by what the two logs prove."""
        if self.same_replica:
            return losses(self.divergence, self.logs.commitment), False
        return settled_losses(self.divergence, self.logs)


def compare_directories(a: Examined, b: Examined) -> LogDifference:
    """Compares two directories. Raises UsageError where they are known to belong to different
    clusters or partitions, or to a partition that no quorum replicates."""
    _refuse_others(a, b)
    if a.replica and b.replica and a.replica.cluster_id != b.replica.cluster_id:
        raise UsageError(
            f"{a.shown} is of cluster {a.replica.cluster_id}, {b.shown} of cluster "
            f"{b.replica.cluster_id}: diff compares replicas of one cluster"
        )
    log_a, log_b = replica_log(a, "A"), replica_log(b, "B")
    same = log_a.key == log_b.key
    if same:
        # A group holds each replica once. A key that no voter set names adds no proof.
        key = ReplicaKey(log_b.key.node_id, f"{log_b.key.directory_id} (B)")
        log_b = replace(log_b, key=key)
    group = compare_group((log_a, log_b))
    comparison = group.between(log_a.key, log_b.key)
    divergence = diverge(log_a, log_b, comparison)
    logs = ComparedLogs(((a, log_a), (b, log_b)), group, classify_compared(group))
    return LogDifference(a, b, log_a, log_b, same, comparison, divergence, logs)


def _refuse_others(a: Examined, b: Examined) -> None:
    partitions = (partition_of(a), partition_of(b))
    for one, partition in zip((a, b), partitions, strict=True):
        if not partition.is_of_a_quorum:
            raise UsageError(
                f"{one.shown}: {partition.what}: no rule of KRaft says which replica truncates"
            )
    if partitions[0].key != partitions[1].key:
        raise UsageError(
            f"{a.shown} is partition {partitions[0].shown}, {b.shown} partition "
            f"{partitions[1].shown}: diff compares replicas of one partition"
        )


def as_row(difference: LogDifference) -> dict[str, Any]:
    """The fields of gold.divergence_points that exist without a lake, for A and B in the given
    order."""
    a, b = difference.a.replica, difference.b.replica
    owner = a or b
    return {
        "cluster_id": owner and owner.cluster_id,
        "node_a": a and a.node_id,
        "directory_a": a and a.directory_id,
        "node_b": b and b.node_id,
        "directory_b": b and b.directory_id,
        **divergence_columns(difference.divergence, difference.settled_losses[0]),
    }


def examine_one(path: str) -> Examined:
    """Reads the one metadata directory at or below `path`. Raises UsageError where there isn't
    exactly one."""
    found = discover([path])
    directories = [one for one in found if isinstance(one, DirectoryPath)]
    if len(directories) != len(found):
        raise UsageError(f"{path}: a file; name a metadata directory, or a folder above one")
    if len(directories) > 1:
        names = ", ".join(one.shown for one in directories[:4])
        raise UsageError(
            f"{path}: {len(directories)} metadata directories below it ({names}"
            f"{', ...' if len(directories) > 4 else ''}); name one of them"
        )
    return examine(directories[0], room=FileRoom.of_environment())


_AGREEING = (Relation.IDENTICAL, Relation.PREFIX)


def run(options: DiffOptions) -> int:
    """Prints the comparison of A and B. Returns 0 where the logs are equal up to the end of the
    shorter one, and no damage may hide a difference; else 1."""
    redactor = make_redactor(options.keep_secrets, None, options.show_config or ())
    for _ in range(MAX_READS):
        difference = compare_directories(examine_one(options.a), examine_one(options.b))
        if not (difference.a.changed or difference.b.changed):
            break
    with printed_at_the_end() as notices:
        both = difference.a, difference.b
        notices += damage_lines(both, all_of_them=options.json_output)
        lines = describe(difference, LogRecordReader(redactor))
        write_either([as_row(difference)], lines, json_output=options.json_output)
    hidden = difference.a.hides_entries or difference.b.hides_entries
    return 0 if difference.divergence.relation in _AGREEING and not hidden else 1


_records = partial(counted, noun="record")

SHOWN_RECORDS = 5
"""The number of records of each branch that are printed."""
SHOWN_WIDTH = 200
"""The most characters of a record's line. `kraftlake dump` shows the whole line."""


def describe(difference: LogDifference, reader: LogRecordReader) -> Iterator[str]:
    """The lines: the two replicas, their relation, both branches, and what Raft does with the
    records in which they differ."""
    yield _who("A", difference.a, difference.log_a)
    yield _who("B", difference.b, difference.log_b)
    if difference.same_replica:
        yield "A and B are two captures of one replica."
    yield ""
    relation = difference.divergence.relation
    if relation is Relation.IDENTICAL:
        yield f"identical: {_agreement(difference)}"
    elif relation is Relation.PREFIX:
        yield from _prefix(difference)
    elif relation is Relation.DISJOINT:
        yield "disjoint: no offset is held by both logs, so they can't be compared."
        yield "The one behind starts from a snapshot of the other; compare their snapshots instead."
    else:
        yield from _parted(difference, reader)
    if difference.a.hides_entries or difference.b.hides_entries:
        yield ""
        yield "Part of a log could not be read (named on stderr) and so was not compared."


def _who(label: str, examined: Examined, log: ReplicaLog) -> str:
    replica = examined.replica
    who = "node unknown (no meta.properties)"
    if replica is not None:
        who = f"node {replica.node_id} ({replica.directory_id})"
    epochs = epochs_of(log.batches)
    span = f", epochs {epochs[0].epoch} to {epochs[-1].epoch}" if epochs else ""
    newest = log.newest_snapshot
    snapshot = "" if newest is None else f", newest snapshot {snapshot_text(newest)}"
    held = log_range(log.log_start, log.first_offset, log.end_offset) if epochs else "an empty log"
    return one_line(f"{label}  {examined.shown}: {who}, {held}{span}{snapshot}")


def _agreement(difference: LogDifference) -> str:
    agreed = difference.comparison.agreement
    if agreed is None:
        return "neither holds a record the other could be compared with"
    return f"both hold the same records from offset {agreed.start} {up_to(agreed.end)}"


def _prefix(difference: LogDifference) -> Iterator[str]:
    a, b = difference.log_a, difference.log_b
    behind, ahead = ("A", "B") if a.end_offset < b.end_offset else ("B", "A")
    shorter, longer = sorted((a, b), key=lambda log: log.end_offset)
    missing = longer.end_offset - shorter.end_offset
    yield f"prefix: {_agreement(difference)}"
    if difference.same_replica:
        yield f"{ahead} has {_records(missing)} more; nothing that {behind} holds was rewritten."
        return
    them = "it" if missing == 1 else "them"
    known = difference.logs.commitment.ranges(longer.key, EntryCommitment.UNPROVEN)
    unproven = intersection(known, (OffsetRange(shorter.end_offset, longer.end_offset),))
    told = f"{behind} is behind {ahead} by {_records(missing)}"
    if not unproven:
        yield f"{told}; it fetches {them} and loses nothing."
        return
    start, lost = unproven[0].start, sum(one.size for one in unproven)
    yield (
        f"{told}. If {ahead} leads, {behind} fetches {them} and loses nothing. If a voter with "
        f"log end offset {start} leads, {ahead} truncates to {start} and loses {_records(lost)}: "
        "these two directories don't prove that "
        f"{'it was' if lost == 1 else 'they were'} committed."
    )


def _parted(difference: LogDifference, reader: LogRecordReader) -> Iterator[str]:
    found = difference.divergence
    offset = found.divergence_offset
    assert offset is not None, "diverged and conflict have an offset"
    agreed = difference.comparison.agreement
    if agreed is None:
        yield f"{found.relation.value}: no common record, they differ from offset {offset} on."
    else:
        yield f"{found.relation.value}: {_agreement(difference)}."
    yield f"At offset {offset} A has epoch {found.epoch_a}, B has epoch {found.epoch_b}."
    for label, examined, log in (
        ("A", difference.a, difference.log_a),
        ("B", difference.b, difference.log_b),
    ):
        yield ""
        held = log.held_from(offset)
        yield f"{label} from {offset} on, {_records(held)}:"
        yield from _branch(examined, offset, log.end_offset, reader)
        if held > SHOWN_RECORDS:
            yield f"  ... {_records(held - SHOWN_RECORDS)} more, {up_to(log.end_offset)}"
    yield ""
    yield from _conflict(difference) if found.relation is Relation.CONFLICT else _loss(difference)


def _branch(examined: Examined, start: int, end: int, reader: LogRecordReader) -> Iterator[str]:
    partition = partition_of(examined)
    for batch, record in islice(examined.records(start, end), SHOWN_RECORDS):
        header = batch.header
        if partition.is_metadata or header.is_control:
            what = _decoded(record, reader, is_control=header.is_control)
        else:
            what = opaque_text(record, None if partition.is_proven else reader.redactor)
        time = ms_text(record.timestamp)
        line = one_line(f"  {record.offset}  epoch {header.leader_epoch}  {time}  {what}")
        yield line if len(line) <= SHOWN_WIDTH else line[: SHOWN_WIDTH - 3] + "..."


def _decoded(record: Record, reader: LogRecordReader, *, is_control: bool) -> str:
    read = reader.read(record, is_control=is_control)
    if read.error is not None:
        return f"could not be decoded: {read.error}"
    return f"{read.record_type} v{read.version}  {read.json_text()}"


def _conflict(difference: LogDifference) -> Iterator[str]:
    offset = difference.divergence.conflict_offset
    yield (
        f"At offset {offset} both hold one epoch with different bytes, or agree again after they "
        "parted. No run of Raft leaves that: a disk was restored or shared, the cluster was "
        "formatted twice, or a file was changed."
    )
    yield "Keep copies of both directories and start neither before it is known which is right."


def _loss(difference: LogDifference) -> Iterator[str]:
    found, (lost, if_stopped) = difference.divergence, difference.settled_losses
    if found.truncating is None or lost is None:
        yield "Neither loses an election against the other, so nothing tells which one truncates."
        return
    is_a = found.truncating == difference.log_a.key
    loser, winner = ("A", "B") if is_a else ("B", "A")
    if difference.same_replica:
        yield f"Between the captures, this log was rewritten: {loser} lost to {winner}."
    else:
        rounds = counted(found.fetch_rounds or 0, "diverging answer")
        yield (
            f"{loser} loses an election against {winner}, whose log ends in a newer epoch or "
            f"further on: following {winner}, {loser} truncates to offset "
            f"{found.truncation_offset} after {rounds}."
        )
    if found.snapshot_id is not None:
        snapshot = snapshot_text(found.snapshot_id)
        yield f"In practice {loser} is given snapshot {snapshot} and empties its log."
    why = IF_STOPPED if if_stopped else "another record is proven committed there"
    yield (
        f"{_records(found.records_lost or 0)} of {loser} lost: {lost.committed} committed, "
        f"{lost.superseded} never committed ({why}), {lost.unproven} unknown."
    )
    if lost.committed:
        yield "COMMITTED records would be lost: don't let these two meet before it is understood."
    elif lost.unproven:
        yield (
            f"Not known: whether {_records(lost.unproven)} of {loser} were committed. "
            f"{_missing_voters(difference.a if winner == 'A' else difference.b, difference)}"
            "`kraftlake check` on the directories of all voters together can tell more."
        )


def _missing_voters(winner: Examined, difference: LogDifference) -> str:
    """A sentence that names the voters whose directory is neither A nor B. "" where there are none,
    or where no file of the winner names voters."""
    given = {difference.log_a.key.node_id, difference.log_b.key.node_id}
    missing = sorted({voter.node_id for voter in winner.stated_voters} - given)
    if not missing:
        return ""
    directories = "directory of voter" if len(missing) == 1 else "directories of voters"
    return f"The {directories} {', '.join(map(str, missing))} would show it. "
