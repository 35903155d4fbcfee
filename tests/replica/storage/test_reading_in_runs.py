"""Batches are read in runs. That finds what reading them one by one finds, also in damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from replica.errors import DataError
from replica.format.checksum import crc32c
from replica.format.frames import Frame, frames
from replica.format.index import OFFSET_ENTRY, TIME_ENTRY
from replica.format.runs import Run, plain_run, use
from replica.format.whole_batch import value_batch
from replica.message.primitives import Buffer
from replica.scan import compiled_runs
from replica.scan.compiled_runs import compiled_run
from replica.simulate.disk import SimulatedDisk
from replica.storage import batch_walk
from replica.storage.batch_walk import read_batches, walk
from replica.storage.batches import bytes_of
from replica.storage.segment import LogConfig, scan_segment
from replica.storage.segment_files import SegmentFiles
from tests.examples import examples
from tests.replica.storage.content import FIRST_TIME, leader_change

FOLDER = "/log"
BASE = 7


@pytest.fixture(scope="module", autouse=True, params=[plain_run, compiled_run])
def finder(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs are found by plain Python, and by the kernel, also where there are only a few bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_runs, "SMALL_BYTES", 0)
        use(request.param)
        yield
        use(plain_run)


@dataclass
class Found:
    """What a scan of one segment found. damage: class, reason, byte and file."""

    offsets: bytes = b""
    times: bytes = b""
    size: int = 0
    end_offset: int = BASE
    first_timestamp: int = -1
    damage: tuple[type, str, int | None, str | None] | None = None
    epochs: list[tuple[int, int]] = field(default_factory=list)
    control: list[int] = field(default_factory=list)


def by_single_batches(disk: SimulatedDisk, config: LogConfig, epoch: int) -> Found:
    """The rules of Kafka's LogSegment.append, a batch at a time."""
    found = Found()
    since, largest, offset_of_largest = 0, -1, 0
    with SegmentFiles(disk, FOLDER, BASE).open() as log:
        try:
            for frame, _ in walk(log, expected_offset=BASE, epoch=epoch):
                relative = frame.last_offset - BASE
                if frame.position == 0:
                    found.first_timestamp = frame.max_timestamp
                if frame.max_timestamp > largest:
                    largest, offset_of_largest = frame.max_timestamp, relative
                if since > config.index_interval_bytes:
                    found.offsets += OFFSET_ENTRY.pack(relative, frame.position)
                    last = TIME_ENTRY.unpack(found.times[-TIME_ENTRY.size :]) if found.times else ()
                    if not last or largest > last[0]:
                        found.times += TIME_ENTRY.pack(largest, offset_of_largest)
                    since = 0
                since += frame.size
                note(found, frame)
                found.size, found.end_offset = frame.end_position, frame.end_offset
        except DataError as error:
            found.damage = type(error), error.reason, error.position, error.path
    return found


def by_runs(disk: SimulatedDisk, config: LogConfig, epoch: int, piece_bytes: int) -> Found:
    found = Found()

    def visit(run: Run, data: Buffer) -> None:
        assert len(data) == run.end_position - run.position
        note(found, run)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batch_walk, "PIECE_BYTES", piece_bytes)
        segment_files = SegmentFiles(disk, FOLDER, BASE)
        scanned = scan_segment(segment_files, config, epoch=epoch, visit=visit)
    with closing(scanned.segment) as segment:
        found.offsets, found.times = bytes(segment.index.offsets), bytes(segment.index.times)
        found.size, found.end_offset = segment.size, segment.end_offset
        found.first_timestamp = segment.first_timestamp
    if scanned.damage is not None:
        error = scanned.damage
        found.damage = type(error), error.reason, error.position, error.path
    return found


def note(found: Found, batches: Frame | Run) -> None:
    if not found.epochs or batches.epoch > found.epochs[-1][0]:
        found.epochs.append((batches.epoch, batches.base_offset))
    if batches.is_control:
        found.control.append(batches.base_offset)


@dataclass(frozen=True)
class Made:
    """A batch to be made. later: its time, in ms after FIRST_TIME."""

    records: int
    size: int
    epochs: int
    later: int
    is_control: bool


MADE = st.builds(
    Made,
    records=st.integers(1, 3),
    size=st.sampled_from([1, 20, 20, 20, 300]),
    epochs=st.sampled_from([0, 0, 0, 0, 1]),
    later=st.integers(-5, 50),
    is_control=st.sampled_from([False, False, False, False, True]),
)


def content(made: list[Made], epoch: int) -> Iterator[bytes]:
    offset, epoch = BASE, max(epoch, 1)
    for each in made:
        epoch += each.epochs
        if each.is_control:
            batch = replace(leader_change(offset, epoch), timestamp=FIRST_TIME + each.later)
            yield bytes_of(batch)
            offset = batch.end_offset
        else:
            values = [bytes([offset % 251]) * each.size] * each.records
            yield value_batch(offset, epoch, FIRST_TIME + each.later, values)
            offset += each.records


@dataclass(frozen=True)
class Place:
    """Where a damage happens: a batch of the log, a byte of it, a bit of that byte."""

    start: int
    size: int
    random: Random

    @property
    def at(self) -> int:
        return self.start + self.random.randrange(self.size)


def flipped_bit(data: bytearray, place: Place) -> None:
    data[place.at] ^= 1 << place.random.randrange(8)


def torn_end(data: bytearray, place: Place) -> None:
    del data[place.at :]


def lost_write(data: bytearray, place: Place) -> None:
    at = place.at
    data[at : at + 200] = bytes(len(data[at : at + 200]))


def zeros_at_the_end(data: bytearray, place: Place) -> None:
    data += bytes(500)


def batch_twice(data: bytearray, place: Place) -> None:
    data[place.start : place.start] = data[place.start : place.start + place.size]


def missing_batch(data: bytearray, place: Place) -> None:
    del data[place.start : place.start + place.size]


def other_magic(data: bytearray, place: Place) -> None:
    data[place.start + 16] = place.random.choice([0, 1, 3])


def other_offset(data: bytearray, place: Place) -> None:
    data[place.start + 7] ^= 1 << place.random.randrange(8)


def other_epoch(data: bytearray, place: Place) -> None:
    epoch = place.random.choice([-1, 0, 2, 9])
    data[place.start + 12 : place.start + 16] = epoch.to_bytes(4, "big", signed=True)


def other_length(data: bytearray, place: Place) -> None:
    length = place.random.choice([-9, -1, 0, 48, 49, place.size, 2**31 - 1])
    data[place.start + 8 : place.start + 12] = length.to_bytes(4, "big", signed=True)


def hostile_offset_delta(data: bytearray, place: Place) -> None:
    """A negative one, with a right CRC."""
    start = place.start
    data[start + 23 : start + 27] = (-1).to_bytes(4, "big", signed=True)
    crc = crc32c(bytes(data[start + 21 : start + place.size]))
    data[start + 17 : start + 21] = crc.to_bytes(4, "big")


def nothing(data: bytearray, place: Place) -> None: ...


DAMAGES = [
    nothing, flipped_bit, torn_end, lost_write, zeros_at_the_end, batch_twice, missing_batch,
    other_magic, other_offset, other_epoch, other_length, hostile_offset_delta,
]  # fmt: skip
Damaging = Callable[[bytearray, Place], None]


def written(made: list[Made], epoch: int, damage: Damaging, seed: int) -> SimulatedDisk:
    """A segment of these batches, damaged at a random place."""
    disk, random = SimulatedDisk(Random(1)), Random(seed)
    batches = list(content(made, epoch))
    number = random.randrange(len(batches))
    data = bytearray(b"".join(batches))
    damage(data, Place(sum(map(len, batches[:number])), len(batches[number]), random))
    disk.make_directory(FOLDER)
    with disk.create(SegmentFiles(disk, FOLDER, BASE).path()) as log:
        log.write(0, bytes(data))
    return disk


@pytest.mark.parametrize("damage", DAMAGES)
@given(
    made=st.lists(MADE, min_size=1, max_size=30),
    seed=st.integers(0, 2**32),
    interval=st.sampled_from([0, 1, 150, 500, 4096]),
    piece_bytes=st.sampled_from([1, 61, 200, 1000, 1024 * 1024]),
    epoch=st.sampled_from([-1, 0, 1, 3]),
)
def test_opening_finds_the_same_batches_indexes_and_damage_as_reading_one_batch_after_another(
    damage: Damaging,
    made: list[Made],
    seed: int,
    interval: int,
    piece_bytes: int,
    epoch: int,
) -> None:
    disk, config = written(made, epoch, damage, seed), LogConfig(index_interval_bytes=interval)
    single = by_single_batches(disk, config, epoch)
    assert by_runs(disk, config, epoch, piece_bytes) == single
    assert (single.damage is None) or damage is not nothing


def read_one_by_one(disk: SimulatedDisk, max_bytes: int, end_offset: int) -> bytes | str:
    """What a read of the log's beginning gives, or the damage that ends it."""
    with SegmentFiles(disk, FOLDER, BASE).open() as log:
        first, _ = next(walk(log, expected_offset=None, check_crc=False))
        data = log.read(0, max(first.size, max_bytes))
        used, offset, epoch = 0, BASE, -1
        while offset < end_offset:
            rest = frames(data[used:], start=used, expected_offset=offset, epoch=epoch)
            try:
                frame = next(rest, None)
            except DataError as error:
                return str(error.in_file(log.path))
            if frame is None:
                break
            used, offset, epoch = frame.end_position, frame.end_offset, frame.epoch
        return data[:used]


def read_by_runs(disk: SimulatedDisk, max_bytes: int, end_offset: int) -> bytes | str:
    with SegmentFiles(disk, FOLDER, BASE).open() as log:
        asked = {"max_bytes": max_bytes, "end_offset": end_offset, "start_offset": BASE}
        try:
            piece = read_batches(log, size=log.size(), search_from=0, **asked)
        except DataError as error:
            return str(error)
    assert (piece.runs[-1].end_position if piece.runs else 0) == len(piece.data)
    return bytes(piece.data)


@pytest.mark.parametrize("damage", DAMAGES)
@given(
    made=st.lists(MADE, min_size=1, max_size=20),
    seed=st.integers(0, 2**32),
    max_bytes=st.sampled_from([0, 200, 1000, 1024 * 1024]),
    end_offset=st.integers(BASE + 1, BASE + 40),
)
@settings(max_examples=examples(40))
def test_a_read_gives_the_same_batches_or_error_as_reading_one_batch_after_another(
    damage: Damaging, made: list[Made], seed: int, max_bytes: int, end_offset: int
) -> None:
    disk = written(made, 1, damage, seed)
    with SegmentFiles(disk, FOLDER, BASE).open() as log:
        header = log.read(0, 61)
    assume(len(header) == 61 and int.from_bytes(header[:8], "big") == BASE)
    try:
        single: bytes | str = read_one_by_one(disk, max_bytes, end_offset)
    except (DataError, StopIteration):
        assume(False)
    assert read_by_runs(disk, max_bytes, end_offset) == single


def test_a_length_below_a_header_is_damage_also_where_the_crc_fits_it() -> None:
    forged = bytearray(value_batch(BASE, 1, FIRST_TIME, [b"x" * 100]))
    forged[8:12] = (20).to_bytes(4, "big")
    forged[17:21] = crc32c(bytes(forged[21:32])).to_bytes(4, "big")
    disk = SimulatedDisk(Random(1))
    disk.make_directory(FOLDER)
    with disk.create(SegmentFiles(disk, FOLDER, BASE).path()) as log:
        log.write(0, bytes(forged))
    found = by_runs(disk, LogConfig(), 1, 1000)
    assert found.damage is not None
    assert found.size == 0
    assert found == by_single_batches(disk, LogConfig(), 1)
