"""Which offsets a damaged directory can't speak of, so that nothing there counts as vanished."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.bronze.captured import Uncovered, uncovered
from replica.format.directory import MetadataDirectory, read_directory

FIRST, SECOND = (f"{offset:020d}.log" for offset in (0, 1262))


@pytest.fixture
def node(data: Path, tmp_path: Path) -> Path:
    """A copy of node 2 of the 4.1.1 split: segments 0-1261 and 1262-1547."""
    source = data / "kafka-4.1.1-dynamic/split/2"
    return Path(shutil.copytree(source, tmp_path / "2")) / "__cluster_metadata-0"


def _read(node: Path) -> MetadataDirectory:
    return read_directory(str(node))


def test_an_undamaged_directory_speaks_of_every_offset(node: Path) -> None:
    assert uncovered(_read(node)) == ()


def test_a_batch_that_lost_its_frame_hides_its_offsets(node: Path) -> None:
    before = _read(node).segments[0].scan.batches
    batch = before[10]
    log = node / FIRST
    damaged = bytearray(log.read_bytes())
    damaged[batch.position + 16] = 9  # the magic: the batch is no batch any more
    log.write_bytes(bytes(damaged))
    assert uncovered(_read(node)) == (
        Uncovered(batch.header.base_offset, before[11].header.base_offset),
    )


def test_a_torn_tail_hides_what_may_have_followed(node: Path) -> None:
    log = node / SECOND
    log.write_bytes(log.read_bytes()[:-7])
    directory = _read(node)
    assert uncovered(directory) == (Uncovered(directory.log_end_offset, None),)
    assert directory.log_end_offset < 1548


def test_a_log_that_ends_in_preallocated_zeros_hides_nothing(node: Path) -> None:
    log = node / SECOND
    log.write_bytes(log.read_bytes() + bytes(4096))
    assert uncovered(_read(node)) == ()


def test_a_segment_that_cannot_be_opened_hides_its_offsets_up_to_the_next(node: Path) -> None:
    (node / FIRST).unlink()
    (node / FIRST).mkdir()
    assert uncovered(_read(node)) == (Uncovered(0, 1262),)


def test_a_wrong_crc_alone_hides_nothing_because_the_batch_is_there(node: Path) -> None:
    log = node / SECOND
    damaged = bytearray(log.read_bytes())
    damaged[-1] ^= 1
    log.write_bytes(bytes(damaged))
    assert uncovered(_read(node)) == ()
