"""How much memory one file of a log may take."""

from pathlib import Path

import pytest

from replica.errors import UnreadableFileError
from replica.format.reading import MAX_LOG_BYTES
from replica.scan.file_room import SEGMENT_MIB, VARIABLE, FileRoom

MIB = 1024 * 1024


def test_the_default_has_room_for_a_full_segment_of_kafka():
    assert FileRoom().content_mib == SEGMENT_MIB > 1024


def test_a_file_of_more_bytes_than_its_headers_may_take_is_read(tmp_path: Path):
    path = tmp_path / "large"
    path.write_bytes(b"x" * 3 * MIB)
    assert len(FileRoom(mib=1, content_mib=4).read(str(path), MAX_LOG_BYTES)) == 3 * MIB
    with pytest.raises(UnreadableFileError, match=VARIABLE):
        FileRoom(mib=1, content_mib=2).read(str(path), MAX_LOG_BYTES)


def test_the_variable_bounds_the_bytes_of_a_file_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "5")
    assert FileRoom.of_environment() == FileRoom(5, 5)
    monkeypatch.delenv(VARIABLE)
    assert FileRoom.of_environment() == FileRoom()
