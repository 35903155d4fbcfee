"""How much memory one file of a log may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.errors import UnreadableFileError
from replica.format.byte_source import OpenFile, byte_source
from replica.format.reading import MAX_LOG_BYTES, SMALL_BYTES
from replica.scan import file_room, segments
from replica.scan.file_room import BATCH_BYTES, COMPACT_BYTES, VARIABLE, FileRoom
from tests.replica.format.encoded import encode_batch


def test_a_large_file_stays_where_it_is_and_a_small_one_is_in_memory(tmp_path: Path) -> None:
    room = FileRoom()
    for size, stays in ((SMALL_BYTES, False), (SMALL_BYTES + 1, True)):
        path = tmp_path / str(size)
        path.write_bytes(b"x" * size)
        found = room.read(str(path), MAX_LOG_BYTES)
        assert isinstance(found, OpenFile) is stays
        assert byte_source(found).size == size


def test_small_files_beyond_a_bound_stay_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_room, "MOST_KEPT_BYTES", 5)
    path = tmp_path / "log"
    path.write_bytes(b"abc")
    room = FileRoom()
    assert [isinstance(room.read(str(path), 3), OpenFile) for _ in range(2)] == [False, True]


def test_of_many_files_all_can_be_read_while_few_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_room, "MOST_KEPT_BYTES", 0)
    monkeypatch.setattr(file_room, "MOST_OPEN", 3)
    before = len(list(Path("/proc/self/fd").iterdir()))
    room = FileRoom()
    kept = []
    for number in range(20):
        path = tmp_path / str(number)
        path.write_bytes(b"%02d" % number)
        kept.append(byte_source(room.read(str(path), 2)))
    assert [bytes(one.read(0, 2)) for one in kept] == [b"%02d" % n for n in range(20)]
    assert len(list(Path("/proc/self/fd").iterdir())) - before == 3
    kept.clear()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_of_more_batches_than_fit_is_refused() -> None:
    one = encode_batch(
        base_offset=0,
        leader_epoch=1,
        records=b"",
        record_count=0,
        last_offset_delta=0,
        base_timestamp=0,
        max_timestamp=0,
    )
    fit = (1 << 20) // BATCH_BYTES
    log = [number.to_bytes(8, "big") + one[8:] for number in range(fit + 1)]
    assert len(FileRoom(1).scan(b"".join(log[:-1])).batches) == fit
    with pytest.raises(UnreadableFileError, match=VARIABLE):
        FileRoom(1).scan(b"".join(log))


def test_many_more_batches_fit_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MIN_BYTES", 0)
    log = encode_batch(
        base_offset=0,
        leader_epoch=1,
        records=b"",
        record_count=1,
        last_offset_delta=0,
        base_timestamp=0,
        max_timestamp=0,
    )
    count = 2 * (1 << 20) // BATCH_BYTES
    raw = b"".join(number.to_bytes(8, "big") + log[8:] for number in range(count))
    assert len(FileRoom(1).scan(raw, compact=True).batches) == count
    most = (1 << 20) // COMPACT_BYTES
    raw = b"".join(number.to_bytes(8, "big") + log[8:] for number in range(most + 1))
    with pytest.raises(UnreadableFileError, match=VARIABLE):
        FileRoom(1).scan(raw, compact=True)


def test_the_variable_bounds_what_a_file_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "5")
    assert FileRoom.of_environment() == FileRoom(5)
    monkeypatch.delenv(VARIABLE)
    assert FileRoom.of_environment() == FileRoom()
