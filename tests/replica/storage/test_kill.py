"""A real process, killed with -9 at random moments, keeps all that it acknowledged."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from replica.format.directory import read_directory
from replica.raft.ports import Batch
from replica.storage.filesystem import LocalDisk
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from tests.replica.storage.appender import CONFIG, EPOCH, SIZES
from tests.replica.storage.content import batch

ROOT = Path(__file__).parents[3]


def kill_one(folder: Path, random: Random) -> dict[str, int]:
    """Start the appender, kill it after a while; the last of each kind of line it said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.replica.storage.appender", folder, str(random.random())[2:]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(random.uniform(0, 0.2))
    process.kill()
    rest = process.stdout.read()
    process.stdout.close()
    assert process.wait() == -9
    whole_lines = (first + rest).decode().split("\n")[:-1]
    return {what: int(value) for what, value in (line.split() for line in whole_lines)}


def possible(offset: int) -> tuple[Batch, ...]:
    """What the appender may have written there."""
    return tuple(batch(offset, epoch=EPOCH, size=size) for size in SIZES)


def rounds(folder: Path, count: int) -> int:
    """Kill and look, `count` times over one directory; returns the records that were kept."""
    random = Random(count)
    for _ in range(count):
        said = kill_one(folder, random)
        assert read_directory(str(folder)).log_end_offset >= said["end"]
        log = open_log(LocalDisk(), str(folder), CONFIG)
        assert log.log_end >= said["end"]
        kept = list(log.batches(log.log_start, log.log_end))
        assert [b.base_offset for b in kept] == list(range(log.log_start, log.log_end))
        assert all(b in possible(b.base_offset) for b in kept)
        voted = QuorumStateFile(LocalDisk(), str(folder)).read()
        if "vote" in said:
            assert voted is not None
            assert voted.epoch >= said["vote"]
        log.close()
    return log.log_end


def test_ten_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert rounds(tmp_path / "__cluster_metadata-0", 10) > 10


@pytest.mark.slow
def test_three_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert rounds(tmp_path / "__cluster_metadata-0", 300) > 300
