"""Compares leader-epoch-checkpoint with the epochs of the log's batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from replica.doctor.check.catalogue import files
from replica.doctor.check.epochs import EpochRun
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding, Rule
from replica.format.directory import DirectoryFile, MetadataDirectory
from replica.format.file_names import FileKind
from replica.format.leader_epoch_checkpoint import encode
from replica.history.epochs import truncate_from_start
from replica.model.epochs import EpochStart

_MOST_ENTRIES = 100
"""The most wrong entries of a file that get a finding each. A file may have 300,000 entries, and a
finding takes more memory than a line."""


def judge_epoch_checkpoint(examined: Examined, runs: Sequence[EpochRun]) -> Iterator[Finding]:
    """Findings that leader-epoch-checkpoint is missing, that its entries are out of order, or that
    the entries differ from the epochs which the log has from its start on."""
    directory = examined.directory
    file = examined.file_of(FileKind.LEADER_EPOCH_CHECKPOINT)
    entries = directory.leader_epochs
    if file is None:
        is_missing = examined.is_complete and examined.lacks(FileKind.LEADER_EPOCH_CHECKPOINT)
        if runs and is_missing:
            message = f"the log has batches from offset {directory.first_offset} on"
            yield files.EPOCH_CHECKPOINT_MISSING.at("", message)
        return
    if entries is None or not examined.is_directory:
        return
    disorder = _disorder(entries)
    if disorder is not None:
        before, after = entries[disorder - 1], entries[disorder]
        position = _positions(file, entries)[disorder]
        message = f"{_text(after)} follows {_text(before)}"
        yield _at_entry(files.EPOCH_CHECKPOINT_ORDER, message, file, after, position)
    elif runs:
        yield from _differences(directory, file, entries, runs)


def epochs_of_runs(runs: Sequence[EpochRun]) -> tuple[EpochStart, ...]:
    """The start offset of each epoch in the log. A run whose epoch isn't larger than all earlier
    epochs adds no entry."""
    found: list[EpochStart] = []
    for run in runs:
        if not found or run.epoch > found[-1].epoch:
            found.append(EpochStart(run.epoch, run.start))
    return tuple(found)


def _differences(
    directory: MetadataDirectory,
    file: DirectoryFile,
    entries: tuple[EpochStart, ...],
    runs: Sequence[EpochRun],
) -> Iterator[Finding]:
    told, positions = epochs_of_runs(runs), _positions(file, entries)
    expected = truncate_from_start(told, directory.log_start_offset)
    first = entries[0] if entries else expected[0]
    if first != expected[0] and entries == truncate_from_start(told, first.start_offset):
        # all entries are right for another log start: either a snapshot is missing, or the first
        # lines of the file are
        message = (
            f"it begins with {_text(first)}, as if the log started there; the log starts at "
            f"{directory.log_start_offset}, and no snapshot has this end offset"
        )
        yield _at_entry(files.EPOCH_CHECKPOINT_MISMATCH, message, file, first, positions[0])
        return
    end = directory.log_end_offset
    starts = {other.epoch: other.start_offset for other in reversed(expected)}
    newest = max(starts, default=-1)
    hidden = _Gaps(runs, directory.log_start_offset)
    wrong = [
        (number, entry)
        for number, entry in enumerate(entries)
        if starts.get(entry.epoch) != entry.start_offset and not hidden.hold(entry.start_offset)
    ]
    for number, entry in wrong[:_MOST_ENTRIES]:
        rule, message = files.EPOCH_CHECKPOINT_MISMATCH, _contradiction(entry, starts)
        if entry.start_offset >= end and entry.epoch > newest:
            rule = files.EPOCH_CHECKPOINT_AHEAD
            message = f"{_text(entry)}; the log end offset is {end}"
        yield _at_entry(rule, message, file, entry, positions[number])
    if len(wrong) > _MOST_ENTRIES:
        number, entry = wrong[_MOST_ENTRIES]
        message = f"{len(wrong) - _MOST_ENTRIES} more entries differ from the log, from this one on"
        yield _at_entry(files.EPOCH_CHECKPOINT_MISMATCH, message, file, entry, positions[number])
    known = {entry.epoch for entry in entries}
    for missing in expected:
        if missing.epoch not in known:
            # LogSegment.recover adds an epoch above the newest; KafkaMetadataLog always recovers
            is_behind = not wrong and missing.epoch > max(known, default=-1)
            rule = files.EPOCH_CHECKPOINT_BEHIND if is_behind else files.EPOCH_CHECKPOINT_MISMATCH
            message = f"no entry for {_text(missing)}, which the log has"
            yield _at_entry(rule, message, file, missing, None)


def _positions(file: DirectoryFile, entries: tuple[EpochStart, ...]) -> Sequence[int | None]:
    """The position (byte) of each entry's line, if the file has Kafka's form; else None for each
    entry."""
    written = encode(entries)
    if len(written) != file.size_bytes:
        return [None] * len(entries)
    lines = written.splitlines(keepends=True)
    return list(accumulate(map(len, lines)))[1:]


def _at_entry(
    rule: Rule, message: str, file: DirectoryFile, entry: EpochStart, position: int | None
) -> Finding:
    return rule.at(
        file.path, message, position=position, offset=entry.start_offset, epoch=entry.epoch
    )


class _Gaps:
    """The offsets at which batches are missing or damaged. Epochs may have begun there."""

    def __init__(self, runs: Sequence[EpochRun], log_start: int) -> None:
        ends = (log_start, *(run.end for run in runs[:-1]))
        starts = (run.start for run in runs)
        gaps = sorted(zip(ends, starts, strict=True))
        self._begins = [begin for begin, _ in gaps]
        self._reach = list(accumulate((end for _, end in gaps), max))

    def hold(self, offset: int) -> bool:
        """Whether a gap holds the offset."""
        number = bisect_right(self._begins, offset)
        return number > 0 and self._reach[number - 1] > offset


def _contradiction(entry: EpochStart, starts: Mapping[int, int]) -> str:
    """The message about an entry that contradicts the log. starts: the start offset of each epoch
    in the log."""
    start = starts.get(entry.epoch)
    if start is not None:
        return f"{_text(entry)}; by the log it starts at {start}"
    return f"{_text(entry)}; the log has no batch of that epoch from its start on"


def _disorder(entries: Sequence[EpochStart]) -> int | None:
    """The index of the first entry whose epoch or offset isn't larger than in the previous entry;
    None if all are in order."""
    for number, (before, after) in enumerate(pairwise(entries), start=1):
        if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
            return number
    return None


def _text(entry: EpochStart) -> str:
    return f"epoch {entry.epoch} from offset {entry.start_offset}"
