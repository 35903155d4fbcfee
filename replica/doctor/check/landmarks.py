"""Chooses the files of a judged directory that need not be read whole when the directory is read
again.

What is kept about such a file is a KnownFile. The known part of the file is sound: it has whole
batches in sequence from the file's first byte on, and no rule has a finding about the file or its
indexes, except notes. A file with records that this release doesn't know can be sound. An old batch
that a rule needs is kept as a landmark. So the rules give the same findings if the other bytes of
the known part are not read again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from replica.doctor.check.catalogue.log import NOT_KNOWN
from replica.doctor.check.clock_steps import LEAST_STEP_MS
from replica.doctor.check.directory import DirectoryFacts
from replica.doctor.check.epochs import MAX_BATCH_BYTES
from replica.doctor.check.rule import Finding
from replica.format.batch import HEADER
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.file_names import INDEX_KINDS
from replica.format.known_file import PLACE_BYTES, BatchPlace, KnownFile, headers_hash
from replica.format.segment import numbers_of, places_where
from replica.format.snapshot import SnapshotState
from replica.format.walk import LocatedBatch
from replica.severity import Severity

MIN_BATCHES = 3
"""The fewest batches in a known segment: the two batches behind a batch show whether its base
offset is right."""
MAX_LANDMARKS = 2000
"""The most landmarks of a known file. A file with more landmarks is read whole each time."""


def known_files(
    facts: DirectoryFacts, findings: Iterable[Finding], before: Mapping[str, KnownFile]
) -> dict[str, KnownFile]:
    """The facts to keep about the directory's segments and complete snapshots, by path. findings:
    all findings about the directory. before: the facts about files that were not read whole this
    time."""
    directory = facts.examined.directory
    doubted = {
        f.file for f in findings if f.severity is not Severity.INFO and f.rule.id not in NOT_KNOWN
    }
    by_offset = {
        file.path: file.name.base_offset
        for file in directory.files
        if file.name.kind in INDEX_KINDS
    }
    doubted_offsets = {by_offset[path] for path in doubted if path in by_offset}
    ends = {
        snapshot.id.offset: snapshot.content.last_contained_log_timestamp
        for snapshot in directory.snapshots
        if snapshot.id is not None
    }
    known: dict[str, KnownFile] = {}
    for segment in directory.segments:
        path = segment.file.path
        if path not in doubted and segment.base_offset not in doubted_offsets:
            sound = _sound(segment.scan.batches, segment)
            _keep(known, facts, segment, sound, ends, before.get(path))
    for snapshot in directory.snapshots:
        path = snapshot.file.path
        if path not in doubted and snapshot.state is SnapshotState.COMPLETE and snapshot.is_whole:
            _keep(known, facts, snapshot, snapshot.scan.batches, {}, before.get(path))
    return known


def _sound(batches: Sequence[LocatedBatch], segment: SegmentFile) -> Sequence[LocatedBatch]:
    """The batches before the first one that isn't sound: it has a wrong CRC, or it lies behind a
    damage, or its position, offset or epoch doesn't follow the previous batch."""
    first_damage = min((d.position for d in segment.scan.damages), default=None)
    end, offset, epoch = 0, segment.base_offset, -1
    names = ("position", "size_bytes", "base_offset", "next_offset", "leader_epoch", "crc_valid")
    for place, numbers in enumerate(numbers_of(batches, *names)):
        position, size, first, following, own_epoch, is_valid = numbers
        in_place = (position, first) == (end, offset)
        if not (in_place or segment.scan.follows_unlisted(batches[place])) or not is_valid:
            return batches[:place]
        if own_epoch < epoch or (first_damage is not None and position >= first_damage):
            return batches[:place]
        epoch, end, offset = own_epoch, position + size, following
    return batches


def _keep(
    known: dict[str, KnownFile],
    facts: DirectoryFacts,
    file: SegmentFile | SnapshotFile,
    sound: Sequence[LocatedBatch],
    ends: Mapping[int, int | None],
    before: KnownFile | None,
) -> None:
    old = before if before is not None and file.scan.sparse_until else None
    if len(sound) < MIN_BATCHES and not (old or isinstance(file, SnapshotFile)):
        return
    if not sound:
        return
    new = sound[len(file.scan.batches) - len(file.scan.new_batches) :]
    end = sound[-1].position + sound[-1].header.size_bytes
    told = dict.fromkeys(_by_header(sound), False)
    told.update(dict.fromkeys(_by_content(facts, file, sound, ends), True))
    if len(told) > MAX_LANDMARKS:
        return
    landmarks = tuple(_place(sound[number], is_whole=told[number]) for number in sorted(told))
    content = facts.examined.content_of(file)
    headers = [content.read(place.position, HEADER.size) for place in landmarks]
    known[file.file.path] = KnownFile(
        size_bytes=file.file.size_bytes,
        content_hash=file.file.sha256,
        sound_bytes=end,
        next_offset=sound[-1].header.next_offset,
        record_count=sum(count for (count,) in numbers_of(new, "record_count"))
        + (0 if old is None else old.record_count),
        chunk_hash="" if file.file.chain is None else file.file.chain.before(end)[1],
        headers_hash=headers_hash(headers),
        landmarks=landmarks,
        places=tuple(_places(() if old is None else old.places, new)),
    )


def _by_header(sound: Sequence[LocatedBatch]) -> Iterator[int]:
    """The indexes of the batches whose headers the rules compare with other headers."""
    newest, before, last_at = (0, -1), None, -1
    names = ("base_timestamp", "max_timestamp", "leader_epoch")
    for number, (first_at, time, epoch) in enumerate(numbers_of(sound, *names)):
        if not number or time > newest[0]:
            newest = time, number
        if number and (epoch != before or last_at - first_at >= LEAST_STEP_MS):
            yield from (number - 1, number)
        before, last_at = epoch, time
    yield newest[1]


def _by_content(
    facts: DirectoryFacts,
    file: SegmentFile | SnapshotFile,
    sound: Sequence[LocatedBatch],
    ends: Mapping[int, int | None],
) -> Iterator[int]:
    """The indexes of the batches whose records a rule reads, and of the first and the last batch.

    ends: the end offset of each snapshot, and LastContainedLogTimestamp (ms) in its header.
    """
    yield from (0, len(sound) - 1)
    names = ("is_control", "size_bytes")
    yield from places_where(
        sound, names, lambda is_control, size: is_control | (size > MAX_BATCH_BYTES)
    )
    if isinstance(file, SegmentFile):
        for segment, batch in facts.idle.batches:
            number = _first_from(sound, batch.position)
            if segment is file and number < len(sound):
                yield number
    for position in facts.noted.places.get(file.file.path, ()):
        number = _first_from(sound, position)
        if number < len(sound) and sound[number].position == position:
            yield number
    for end, told in ends.items():
        number = bisect_left(sound, end, key=lambda batch: batch.header.next_offset)
        behind = sound[number:]
        if told is not None and behind and behind[0].header.max_timestamp != told:
            later = places_where(behind, ("max_timestamp",), lambda at, told=told: at == told)
            yield from (number + place for place in later)
        while number < len(sound) and sound[number].header.base_offset <= end:
            yield number
            number += 1


def _first_from(batches: Sequence[LocatedBatch], position: int) -> int:
    """The index of the first batch that begins at this byte or behind it."""
    return bisect_left(batches, position, key=lambda batch: batch.position)


def _places(known: Iterable[BatchPlace], new: Sequence[LocatedBatch]) -> Iterator[BatchPlace]:
    following = 0
    for place in known:
        if place.position >= following:
            following = place.position + PLACE_BYTES
            yield place
    while (number := _first_from(new, following)) < len(new):
        place = _place(new[number], is_whole=True)
        following = place.position + PLACE_BYTES
        yield place


def _place(batch: LocatedBatch, *, is_whole: bool) -> BatchPlace:
    size = batch.header.size_bytes if is_whole else HEADER.size
    return BatchPlace(batch.position, batch.header.base_offset, size)
