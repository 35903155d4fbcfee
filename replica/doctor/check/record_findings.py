"""Findings about single records: records that can't be decoded, records of unknown types, and
markers of transactions.

Every record is read. In a large file the bulk reader finds the batches that may hold such records;
only these batches are then decoded record by record.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from replica.doctor.check.catalogue import log
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding, Rule
from replica.errors import DataError
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.control import UnknownControl, decode_control, type_name
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.record import Record
from replica.format.segment import numbers_of
from replica.format.snapshot import SnapshotState
from replica.format.walk import LocatedBatch
from replica.metadata.codec import decode
from replica.metadata.passed_over import PassedOver
from replica.metadata.record import UnknownRecord
from replica.metadata.records import FIRST_VENDOR_KEY, NEWEST_KAFKA, RECORDS_BY_KEY
from replica.scan.segments import is_large, odd_records
from replica.words import counted, named

BEGIN, END, ABORT = (f"{word}_TRANSACTION_RECORD" for word in ("BEGIN", "END", "ABORT"))


@dataclass(frozen=True, slots=True)
class Transaction:
    """A metadata transaction (KIP-868)."""

    path: str
    """The file with the first marker that was found."""
    position: int
    """The byte of the file `path` at which the batch with the marker begins."""
    first: int | None
    """The offset of the transaction's first marker (inclusive); None if the transaction began
    before the start of the log."""
    last: int | None
    """The offset of the transaction's last marker (inclusive); None if the transaction is open."""

    def holds(self, end_offset: int) -> bool:
        """Whether a state that ends at `end_offset` (exclusive) would end inside the
        transaction."""
        begun = self.first is None or self.first < end_offset
        return begun and (self.last is None or end_offset <= self.last)


@dataclass(frozen=True, slots=True)
class NotedRecords:
    """The result of reading all records."""

    findings: tuple[Finding, ...]
    """Findings about the log and about complete snapshots."""
    transactions: tuple[Transaction, ...]
    """The transactions of the log, in its order."""
    places: Mapping[str, frozenset[int]]
    """For each file, the first byte of each batch with a record that can't be decoded, is of an
    unknown type or version, or is the marker of a transaction."""


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A record of a type, or of a version of a known type, that this release doesn't know.

    shown: the type and the version in words.
    rule: the rule for the unknown type or version.
    api_key: the api key of an unknown type; None for control records.
    """

    shown: str
    rule: Rule
    api_key: int | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    """One record to be noted. record: the finding about it, the name of the transaction marker, or
    its unknown type or version."""

    file: SegmentFile | SnapshotFile
    batch: LocatedBatch
    offset: int
    record: Finding | str | _Unknown


_PASSED_OVER = "passed over, as --pass-over says"
_OF_API_KEY = re.compile(r"the record at offset \d+ is of api key (?P<api_key>\d+)\b")


def note_records(examined: Examined, *, is_metadata: bool = True) -> NotedRecords:
    """Read every record of the log and of complete snapshots. is_metadata: whether the values are
    metadata records, which are decoded too."""
    found: list[Finding] = []
    transactions: list[Transaction] = []
    places: dict[str, frozenset[int]] = {}
    files: list[SegmentFile | SnapshotFile] = [*examined.directory.segments]
    files += (s for s in examined.directory.snapshots if s.state is SnapshotState.COMPLETE)
    for file in files:
        stand_out = list(_stand_out(examined, file, is_metadata))
        places[file.file.path] = frozenset(seen.batch.position for seen in stand_out)
        found.extend(seen.record for seen in stand_out if isinstance(seen.record, Finding))
        found.extend(_judge_unknown(stand_out, examined.passed_over))
        if isinstance(file, SegmentFile):
            for seen in stand_out:
                if isinstance(seen.record, str):
                    _take_marker(transactions, seen)
    return NotedRecords(tuple(found), tuple(transactions), places)


def _judge_unknown(stand_out: Sequence[_Seen], passed_over: PassedOver) -> Iterator[Finding]:
    """One finding for each unknown type and version in a file, about the first such record: a log
    of a newer Kafka may hold thousands of such records."""
    alike: dict[_Unknown, list[_Seen]] = {}
    for seen in stand_out:
        if isinstance(seen.record, _Unknown):
            alike.setdefault(seen.record, []).append(seen)
    for unknown, (first, *others) in alike.items():
        rule, known = unknown.rule, _PASSED_OVER
        if unknown.api_key is not None and unknown.api_key in passed_over:
            rule = log.RECORD_PASSED_OVER
        else:
            is_log = isinstance(first.file, SegmentFile)
            state = (
                f"the state from offset {first.offset} on" if is_log else "this snapshot's state"
            )
            known = f"{state} is not known to this release, which reads up to Kafka {NEWEST_KAFKA}"
        more = f", as are {len(others)} more up to offset {others[-1].offset}" if others else ""
        yield rule.at(
            first.file.file.path,
            f"the record at offset {first.offset} is of {unknown.shown}{more}: {known}",
            position=first.batch.position,
            offset=first.offset,
            epoch=first.batch.header.leader_epoch,
        )


def without_passed_over(found: Finding, passed_over: PassedOver) -> Finding:
    """Turns a finding that note_records made without passed-over types into the finding for a
    replay that passes over the types in `passed_over`."""
    named_key = _OF_API_KEY.match(found.message)
    if found.rule not in (log.UNKNOWN_RECORD_TYPE, log.VENDOR_RECORD_TYPE) or named_key is None:
        return found
    if int(named_key["api_key"]) not in passed_over:
        return found
    message = f"{found.message.rpartition(': ')[0]}: {_PASSED_OVER}"
    return replace(found, rule=log.RECORD_PASSED_OVER, message=message)


def passed_over(examined: Examined) -> str:
    """The records of the log that the replay passes over, such as `2 records of types 501 and 516`;
    "" if there are none."""
    counts: Counter[int] = Counter()
    for segment in examined.directory.segments if examined.passed_over else ():
        for seen in _stand_out(examined, segment, is_metadata=True):
            key = seen.record.api_key if isinstance(seen.record, _Unknown) else None
            if key is not None and key in examined.passed_over:
                counts[key] += 1
    return passed_over_text(counts)


def passed_over_text(counts: Mapping[int, int]) -> str:
    """A text such as `2 records of types 501 and 516`; "" without records. counts: the numbers of
    records by api key."""
    if not counts:
        return ""
    return (
        f"{counted(sum(counts.values()), 'record')} of {named('type', [*map(str, sorted(counts))])}"
    )


def judge_transactions(transactions: tuple[Transaction, ...]) -> Iterator[Finding]:
    """A finding if the log ends within a transaction."""
    if transactions and transactions[-1].last is None:
        last = transactions[-1]
        message = f"the transaction that begins at offset {last.first} has no end"
        yield log.OPEN_TRANSACTION.at(last.path, message, position=last.position, offset=last.first)


def _take_marker(transactions: list[Transaction], seen: _Seen) -> None:
    is_open = bool(transactions) and transactions[-1].last is None
    path, position = seen.file.file.path, seen.batch.position
    if seen.record == BEGIN:
        if not is_open:
            transactions.append(Transaction(path, position, seen.offset, None))
    elif is_open:
        begun = transactions[-1]
        transactions[-1] = Transaction(begun.path, begun.position, begun.first, seen.offset)
    elif not transactions:
        transactions.append(Transaction(path, position, None, seen.offset))


def _stand_out(
    examined: Examined, file: SegmentFile | SnapshotFile, is_metadata: bool
) -> Iterator[_Seen]:
    content = examined.content_of(file)
    inflation = Inflation(content.size)
    types = (BEGIN, END, ABORT) if is_metadata else None
    for batch in batches_with(file, content, types):
        yield from _of_batch(file, batch, content.records(batch, inflation), is_metadata)


def batches_with(
    file: SegmentFile | SnapshotFile, content: FileContent, types: Collection[str] | None
) -> Iterator[LocatedBatch]:
    """The batches with a valid CRC that may hold records of these types, control records, or
    records of unknown types and versions; all batches of a small file. types: types of metadata
    records; None for a log of other records."""
    new = file.scan.new_batches
    # for some known batches only the header was read (replica.format.known_file)
    listed = file.scan.batches[: len(file.scan.batches) - len(new)]
    known = [batch for batch in listed if content.holds(batch)]
    if types is not None and is_large(content.size - file.scan.sparse_until):
        new = tuple(_with_odd_records(file, content, new, types))
    return (batch for batch in chain(known, new) if batch.crc_valid)


def _with_odd_records(
    file: SegmentFile | SnapshotFile,
    content: FileContent,
    new: Sequence[LocatedBatch],
    types: Collection[str],
) -> Iterator[LocatedBatch]:
    """The batches of `new` that hold a record of one of the types, or a record that the bulk reader
    leaves to the scalar reader, in order. new: as in SegmentScan.new_batches."""
    start = file.scan.sparse_until
    expected = file.file.name.base_offset if isinstance(file, SegmentFile) else 0
    if start and new:
        expected = new[0].header.base_offset
    source = content.source(start)
    odd = odd_records(source, start=start, expected_offset=expected, types=types)
    offset = next(odd, None)
    names = ("base_offset", "last_offset", "crc_valid")
    for place, (first, last, is_valid) in enumerate(numbers_of(new, *names)):
        while offset is not None and offset < first:
            offset = next(odd, None)
        if offset is not None and offset <= last and is_valid:
            yield new[place]


def _of_batch(
    file: SegmentFile | SnapshotFile,
    batch: LocatedBatch,
    records: Iterator[Record],
    is_metadata: bool,
) -> Iterator[_Seen]:
    offset = batch.header.base_offset
    try:
        for record in records:
            offset = record.offset
            is_known = is_metadata or batch.header.is_control
            noted = _judge(file, batch, record) if is_known else None
            if noted is not None:
                yield _Seen(file, batch, offset, noted)
            offset += 1
    except DataError as error:
        yield _Seen(file, batch, offset, _undecodable(file, batch, offset, error))


def _judge(
    file: SegmentFile | SnapshotFile, batch: LocatedBatch, record: Record
) -> Finding | str | _Unknown | None:
    api_key: int | None = None
    try:
        if batch.header.is_control:
            control = decode_control(record.key, record.value)
            if not isinstance(control, UnknownControl):
                return None
            name, version = type_name(control), control.version
            rule = log.UNKNOWN_RECORD_VERSION if version >= 0 else log.UNKNOWN_RECORD_TYPE
        else:
            message = decode(record.value or b"")
            if not isinstance(message, UnknownRecord):
                marker = message.schema.name
                return marker if marker in (BEGIN, END, ABORT) else None
            name, version = message.type, message.version
            rule = log.UNKNOWN_RECORD_VERSION
            if message.api_key not in RECORDS_BY_KEY:
                name, api_key = f"api key {message.api_key}", message.api_key
                is_vendors = message.api_key >= FIRST_VENDOR_KEY
                rule = log.VENDOR_RECORD_TYPE if is_vendors else log.UNKNOWN_RECORD_TYPE
    except DataError as error:
        return _undecodable(file, batch, record.offset, error)
    shown = f"{name} version {version}" if version >= 0 else name
    return _Unknown(shown, rule, api_key)


def _undecodable(
    file: SegmentFile | SnapshotFile, batch: LocatedBatch, offset: int, error: DataError
) -> Finding:
    return log.UNDECODABLE_RECORD.at(
        file.file.path,
        f"the record at offset {offset}: {error}",
        position=batch.position,
        offset=offset,
        epoch=batch.header.leader_epoch,
    )
