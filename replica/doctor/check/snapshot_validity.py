"""Judges whether snapshots are whole, end at a valid offset, and equal a replay (KIP-630)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from replica.doctor.check.catalogue import snapshots
from replica.doctor.check.catalogue.log import NOT_KNOWN
from replica.doctor.check.clock_steps import judge_snapshot_time
from replica.doctor.check.damaged import is_cut_off, snapshot_damage
from replica.doctor.check.examined import Examined
from replica.doctor.check.record_findings import Transaction
from replica.doctor.check.replaying import snapshot_image
from replica.doctor.check.rule import Finding
from replica.format.directory import SnapshotFile
from replica.format.segment import chosen
from replica.format.snapshot import SnapshotState
from replica.format.walk import LocatedBatch
from replica.metadata.image.image import (
    PLACE_OF,
    EntityDifference,
    Image,
    differences,
    dropped_configs,
    orphan_topic_configs,
)
from replica.metadata.image.settings import ZK_MIGRATION
from replica.metadata.records import NEWEST_KAFKA
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch, is_newer_than_log
from replica.severity import Severity
from replica.words import up_to

_SHOWN_DIFFERENCES = 3
_NOT_JUDGED = {
    snapshots.SNAPSHOT_UNVERIFIED.id, snapshots.SNAPSHOT_NOT_KNOWN.id,
    *NOT_KNOWN,
}  # fmt: skip
"""The ids of the rules about content that could not be judged. Findings of these rules don't make a
snapshot invalid."""


class Validity(StrEnum):
    """The verdict on a snapshot, as in the column gold.snapshot_validity.verdict."""

    VALID = "valid"
    INVALID = "invalid"
    UNVERIFIABLE = "unverifiable"
    """No fault was found, but the content couldn't be compared with a replay."""


@dataclass(frozen=True, slots=True)
class SnapshotVerdict:
    """A snapshot's verdict."""

    id: OffsetAndEpoch
    path: str
    validity: Validity
    broken: tuple[Finding, ...]
    """The findings that make the snapshot invalid."""
    notes: tuple[Finding, ...]
    """The other findings."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The numbers of entities that differ between a snapshot and a replay, or another snapshot."""

    orphans: int
    """The number of the differences in Differing.orphans."""
    dropped: int
    """The number of the differences in Differing.dropped."""
    different: int
    """The number of all other differences."""
    first: tuple[EntityDifference, ...]
    """The first differences, which are shown."""


@dataclass(frozen=True, slots=True)
class Differing:
    """The differences between two images, in a list for each reason. Each list is in the order of
    the kinds in PLACE_OF and then of the keys as text."""

    orphans: list[EntityDifference]
    """Configs that only the snapshot holds, and whose topics don't exist (see
    orphan_topic_configs)."""
    dropped: list[EntityDifference]
    """Configs that only the log holds, because Kafka 4.2 and newer leave them out of snapshots (see
    dropped_configs)."""
    others: list[EntityDifference]
    """Differences that Kafka's known behaviour doesn't explain."""

    def counted(self, first: Iterable[EntityDifference]) -> Compared:
        """The numbers of these differences. first: the differences that are shown."""
        return Compared(len(self.orphans), len(self.dropped), len(self.others), tuple(first))


def validity_of(findings: Iterable[tuple[str, Severity]]) -> Validity:
    """The verdict on a snapshot. findings: the rule id and the severity of each finding about
    it."""
    rules = tuple(findings)
    if any(is_broken(rule, severity) for rule, severity in rules):
        return Validity.INVALID
    if any(rule in _NOT_JUDGED for rule, _ in rules):
        return Validity.UNVERIFIABLE
    return Validity.VALID


def is_broken(rule: str, severity: Severity) -> bool:
    """Whether a finding of this rule makes a snapshot invalid. The warning about a record that this
    release is too old to read doesn't."""
    return severity is not Severity.INFO and rule not in _NOT_JUDGED


def snapshot_verdicts(
    examined: Examined,
    transactions: Sequence[Transaction],
    noted: Collection[Finding],
    replayed: Mapping[OffsetAndEpoch, Image] | None,
) -> Iterator[SnapshotVerdict]:
    """A verdict on each complete snapshot, except a snapshot in which a copy breaks off.

    noted: findings about the records of all files. replayed: the states at the ends to which this
    log, or another log of its cluster, could be replayed; None if the records aren't metadata
    records.
    """
    for snapshot in examined.directory.snapshots:
        if snapshot.id is None or snapshot.state is not SnapshotState.COMPLETE:
            continue
        if is_cut_off(examined, snapshot):
            continue
        path = snapshot.file.path
        found = [
            *snapshot_damage(examined, snapshot),
            *_judge_delimiters(snapshot),
            *(finding for finding in noted if finding.file == path),
        ]
        if snapshot.id != BOOTSTRAP_SNAPSHOT:
            found += _judge_place(examined, snapshot, snapshot.id, transactions)
            if snapshot.is_whole and replayed is None:
                place = {"offset": snapshot.id.offset, "epoch": snapshot.id.epoch}
                message = "its records are no metadata records"
                found.append(snapshots.SNAPSHOT_UNVERIFIED.at(path, message, **place))
            elif snapshot.is_whole and replayed is not None:
                newer = is_newer(snapshot.id, _unknown_offsets(examined, snapshot, noted))
                found += _judge_content(examined, snapshot, replayed.get(snapshot.id), newer=newer)
        broken = tuple(f for f in found if is_broken(f.rule.id, f.severity))
        notes = tuple(f for f in found if not is_broken(f.rule.id, f.severity))
        validity = validity_of((f.rule.id, f.severity) for f in found)
        yield SnapshotVerdict(snapshot.id, snapshot.file.path, validity, broken, notes)


def _judge_delimiters(snapshot: SnapshotFile) -> Iterator[Finding]:
    """The findings about header, footer and the batches' epoch. There is no finding if damage
    explains the fault, because the damage has its own finding."""
    batches = snapshot.scan.batches
    if not batches:
        return
    path = snapshot.file.path
    starts_damaged = any(damage.position == 0 for damage in snapshot.scan.damages)
    ends_damaged = any(d.position >= batches[-1].position for d in snapshot.scan.damages)
    if not snapshot.content.has_header and not starts_damaged:
        yield snapshots.SNAPSHOT_HEADER.at(path, "no SNAPSHOT_HEADER record first", position=0)
    if not snapshot.content.has_footer and not ends_damaged:
        last = batches[-1]
        yield snapshots.SNAPSHOT_FOOTER.at(
            path,
            f"no SNAPSHOT_FOOTER record last; it ends at byte {snapshot.scan.end_position}",
            position=last.position,
        )
    assert snapshot.id is not None
    others = [b for b in batches if b.crc_valid and b.header.leader_epoch != snapshot.id.epoch]
    if others:
        epoch = others[0].header.leader_epoch
        yield snapshots.SNAPSHOT_EPOCH.at(
            path,
            f"{len(others)} of {len(batches)} batches have another epoch than {snapshot.id.epoch}, "
            f"the first of them {epoch}",
            position=others[0].position,
            epoch=epoch,
        )


def _judge_place(
    examined: Examined,
    snapshot: SnapshotFile,
    snapshot_id: OffsetAndEpoch,
    transactions: Sequence[Transaction],
) -> Iterator[Finding]:
    """The findings about the place in the log at which the snapshot ends."""
    path, end = snapshot.file.path, snapshot_id.offset
    place = {"offset": end, "epoch": snapshot_id.epoch}
    yield from _judge_end(examined, path, snapshot_id)
    last = _newest_holder(examined, end - 1)
    if last is None:
        return
    if last.header.leader_epoch != snapshot_id.epoch:
        epoch = last.header.leader_epoch
        message = f"the log's record at offset {end - 1} has epoch {epoch}, not {snapshot_id.epoch}"
        yield snapshots.SNAPSHOT_LOG_EPOCH.at(path, message, **place)
        return
    if last.header.last_offset != end - 1:
        batch = f"{last.header.base_offset} to {last.header.last_offset}"
        message = f"its end offset {end} lies inside the batch {batch}"
        yield snapshots.SNAPSHOT_INSIDE_BATCH.at(path, message, **place)
    for transaction in transactions:
        if transaction.holds(end):
            message = f"its end offset {end} lies inside the transaction of {_span(transaction)}"
            yield snapshots.SNAPSHOT_INSIDE_TRANSACTION.at(path, message, **place)
    yield from judge_snapshot_time(examined, snapshot, snapshot_id)


def _newest_holder(examined: Examined, offset: int) -> LocatedBatch | None:
    """The batch that holds the offset, in the newest segment with such a batch, which Kafka reads;
    None if there is none, or if its CRC is wrong."""
    for segment in reversed(examined.directory.segments):
        held = chosen(
            segment.scan.batches,
            ("base_offset", "last_offset"),
            lambda first, last: (first <= offset) & (offset <= last),
        )
        for batch in held:
            return batch if batch.crc_valid else None
    return None


def _span(transaction: Transaction) -> str:
    first = "an offset before the log" if transaction.first is None else f"{transaction.first}"
    return f"{first} on" if transaction.last is None else f"{first} to {transaction.last}"


def _judge_end(examined: Examined, path: str, snapshot_id: OffsetAndEpoch) -> Iterator[Finding]:
    last, log_end = examined.last_batch, examined.directory.log_end_offset
    if last is None or snapshot_id.offset <= log_end:
        return
    epoch = last.header.leader_epoch
    newer = is_newer_than_log(snapshot_id, log_end, epoch)
    rule = snapshots.SNAPSHOT_NEWER_THAN_LOG if newer else snapshots.SNAPSHOT_BEYOND_LOG
    message = (
        f"its end offset is {snapshot_id.offset} in epoch {snapshot_id.epoch}, the log's is "
        f"{log_end} in epoch {epoch}"
    )
    yield rule.at(path, message, offset=snapshot_id.offset, epoch=snapshot_id.epoch)


def _unknown_offsets(
    examined: Examined, snapshot: SnapshotFile, noted: Collection[Finding]
) -> Iterator[int | None]:
    """The offsets of the first unknown records, for `is_newer`."""
    logs = {segment.file.path for segment in examined.directory.segments}
    for finding in noted:
        if finding.rule.id in NOT_KNOWN:
            if finding.file == snapshot.file.path:
                yield None
            elif finding.file in logs:
                yield finding.offset


def is_newer(snapshot_id: OffsetAndEpoch, unknown: Iterable[int | None]) -> bool:
    """Whether a snapshot, or the log below its end offset, holds records whose type or version this
    release doesn't know. unknown: the offsets of the first such records in the log; None stands for
    such a record in the snapshot."""
    return any(offset is None or offset < snapshot_id.offset for offset in unknown)


def _judge_content(
    examined: Examined, snapshot: SnapshotFile, replayed: Image | None, *, newer: bool
) -> Iterator[Finding]:
    assert snapshot.id is not None
    held = snapshot_image(examined, snapshot)
    found = None if held is None or replayed is None else compare_images(held, replayed)
    compared = None if found is None else found.counted(found.others[:_SHOWN_DIFFERENCES])
    path, is_readable = snapshot.file.path, held is not None
    yield from judge_compared(path, snapshot.id, compared, is_readable=is_readable, newer=newer)


def judge_compared(
    path: str,
    snapshot_id: OffsetAndEpoch,
    compared: Compared | None,
    *,
    is_readable: bool,
    newer: bool,
) -> Iterator[Finding]:
    """The findings of the comparison of a snapshot with the replay up to its end.

    compared: None if no replay reached this end. is_readable: whether every record of the snapshot
    could be read and applied. newer: the result of is_newer.
    """
    place = {"offset": snapshot_id.offset, "epoch": snapshot_id.epoch}
    if newer and (compared is None or not is_readable):
        message = (
            "it, or the log below its end, holds records that are not known to this release, which "
            f"reads up to Kafka {NEWEST_KAFKA}"
        )
        yield snapshots.SNAPSHOT_NOT_KNOWN.at(path, message, **place)
    elif not is_readable or compared is None:
        message = f"no log was replayed {up_to(snapshot_id.offset)}"
        if not is_readable:
            message = "part of its records can't be read or applied here"
        yield snapshots.SNAPSHOT_UNVERIFIED.at(path, message, **place)
    else:
        if compared.orphans:
            message = f"{_count(compared.orphans, 'config')} of topics that don't exist"
            yield snapshots.ORPHAN_TOPIC_CONFIGS.at(path, message, **place)
        if compared.dropped:
            message = f"{_count(compared.dropped, 'config')} of the log left out"
            yield snapshots.CONFIGS_LEFT_OUT.at(path, message, **place)
        if compared.different:
            told = describe(compared.first, compared.different)
            yield snapshots.SNAPSHOT_CONTENT.at(path, f"{told} (snapshot against replay)", **place)


def compare_images(a: Image, b: Image) -> Differing:
    """The differences between two images, and the entities that only one of them has.

    The state of the migration from ZooKeeper counts only if both images have it. Kafka 4 has no
    such state, and leaves the record of an upgraded node's log out of its snapshots. Kafka 3.9
    writes a state into snapshots even if the log has no record of it.
    """
    orphans = _keys(*orphan_topic_configs(a, b), *orphan_topic_configs(b, a))
    dropped = _keys(*dropped_configs(a, b), *dropped_configs(b, a)) - orphans
    found = sorted(differences(a, b), key=lambda one: (PLACE_OF[one.kind], one.key))
    found = [one for one in found if not _is_lone_migration(one)]
    return Differing(
        [one for one in found if (one.kind, one.key) in orphans],
        [one for one in found if (one.kind, one.key) in dropped],
        [one for one in found if (one.kind, one.key) not in orphans | dropped],
    )


def _is_lone_migration(one: EntityDifference) -> bool:
    return one.kind == ZK_MIGRATION.name and None in (one.value_a, one.value_b)


def _keys(*found: EntityDifference) -> set[tuple[str, str]]:
    return {(one.kind, one.key) for one in found}


def describe(differences: Sequence[EntityDifference], count: int) -> str:
    """The first of `count` differences by kind and key, as text. Their values are left out, because
    they may be secret."""
    shown = [f"{one.kind} {one.key} {_how(one)}" for one in differences[:_SHOWN_DIFFERENCES]]
    more = count - len(shown)
    rest = f", and {more} more" if more else ""
    return f"{_count(count, 'entity')} differ: {', '.join(shown)}{rest}"


def _how(one: EntityDifference) -> str:
    if one.value_a is None:
        return "is missing"
    return "is too much" if one.value_b is None else "differs"


def _count(count: int, noun: str) -> str:
    plural = "entities" if noun == "entity" else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def judge_log_start(examined: Examined) -> Iterator[Finding]:
    """The finding about a log that starts above 0, if no usable snapshot ends at the log's start or
    later (KIP-630)."""
    directory = examined.directory
    if not examined.is_complete or not directory.segments:
        return
    start = max(directory.log_start_offset, directory.first_offset or 0)
    if start == directory.first_offset:
        # the segment's name counts: a first batch above it means damage, which has its own finding
        start = min(start, directory.segments[0].base_offset)
    if start == 0:
        return
    if directory.has_moved:
        return  # the snapshot may have been deleted while the directory was read
    path = directory.segments[0].file.path
    usable = (one for one, _ in examined.usable_snapshots if one != BOOTSTRAP_SNAPSHOT)
    newest = max(usable, default=None)
    begins = f"the log starts at offset {start}"
    if start > directory.log_start_offset:
        begins = f"the first batch begins at offset {start}"
    if newest is None:
        message = f"{begins}, and there is no usable snapshot"
        yield snapshots.LOG_START_WITHOUT_SNAPSHOT.at(path, message, offset=start)
    elif newest.offset < start:
        message = f"the newest usable snapshot has end offset {newest.offset}, {begins}"
        yield snapshots.SNAPSHOT_LOG_HOLE.at(path, message, offset=newest.offset)
