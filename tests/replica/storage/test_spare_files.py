"""Storage opens files also when this process may open no more."""

import errno
import os
import resource
from contextlib import suppress

import pytest

from replica.errors import UnwritableFileError
from replica.storage.filesystem import LocalDisk, replace_durably
from replica.storage.spare_files import SpareFiles


def taken():
    """All files that this process may still open."""
    found = []
    with suppress(OSError):
        while True:
            found.append(os.open(os.devnull, os.O_RDONLY))
    return found


@pytest.fixture
def few_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 100, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_vote_is_written_when_no_other_file_can_be_opened(tmp_path, few_files):
    with_spare, without = LocalDisk(SpareFiles(4)), LocalDisk()
    others = taken()
    try:
        with pytest.raises(UnwritableFileError, match="Too many open files"):
            replace_durably(without, str(tmp_path), "quorum-state", b"1")
        for content in (b"2", b"3", b"4", b"5", b"6"):
            replace_durably(with_spare, str(tmp_path), "quorum-state", content)
        assert with_spare.names(str(tmp_path)) == ("quorum-state",)
    finally:
        for handle in others:
            os.close(handle)
    assert (tmp_path / "quorum-state").read_bytes() == b"6"


def test_spare_files_are_taken_again_once_there_are_some(few_files):
    spare = SpareFiles(2)
    others = taken()
    opened = [spare.open_with(lambda: os.open(os.devnull, os.O_RDONLY)) for _ in range(2)]
    with pytest.raises(OSError, match="Too many") as refused:
        spare.open_with(lambda: os.open(os.devnull, os.O_RDONLY))
    assert refused.value.errno == errno.EMFILE
    for handle in (*others, *opened):
        os.close(handle)
    os.close(spare.open_with(lambda: os.open(os.devnull, os.O_RDONLY)))
    others = taken()
    os.close(spare.open_with(lambda: os.open(os.devnull, os.O_RDONLY)))
    spare.close()
    for handle in others:
        os.close(handle)


def test_an_error_of_another_kind_gives_no_spare_file_away(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    spare = SpareFiles(2)
    with pytest.raises(FileNotFoundError):
        spare.open_with(lambda: os.open(tmp_path / "none", os.O_RDONLY))
    assert len(os.listdir("/proc/self/fd")) == before + 2
    spare.close()
    assert len(os.listdir("/proc/self/fd")) == before
