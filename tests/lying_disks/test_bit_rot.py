"""Bits that rot in acknowledged data, on the disk of a running replica."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from replica.errors import CorruptDataError, PeerError
from replica.format.batch import decode_header
from tests.interop.mixed_quorum import MixedQuorum
from tests.lying_disks.lies import ALL_FROM_DISK, ended
from tests.lying_disks.test_lying_disks import appending_to, goes_on
from tests.replica.node.running import append, fetched, leads, running


def end_of_batch(folder: Path, position: int) -> int:
    """The position behind the batch at `position` of the log in a partition's folder."""
    (path,) = folder.glob("*.log")
    return position + decode_header(path.read_bytes()[position:]).size_bytes


def rot(folder: Path, position: int) -> None:
    """Flip a bit of the log in a partition's folder."""
    (path,) = folder.glob("*.log")
    with path.open("r+b") as log:
        log.seek(position)
        (byte,) = log.read(1)
        log.seek(position)
        log.write(bytes([byte ^ 1]))


@pytest.mark.slow
def test_a_leader_whose_acknowledged_data_has_rotted_stops_before_a_follower_gets_it(
    tmp_path: Path,
) -> None:
    quorum = MixedQuorum(tmp_path, kraftlake=3, properties=ALL_FROM_DISK)
    with quorum, appending_to(quorum) as appending:
        leader = quorum.leader()
        follower = next(voter for voter in quorum.running if voter is not leader)
        goes_on(quorum, appending)
        follower.kill()
        goes_on(quorum, appending)
        rot(leader.partition, end_of_batch(leader.partition, follower.size) - 1)
        follower.start()
        assert ended(leader).endswith(": its CRC is not that of its bytes")
        goes_on(quorum, appending)
        leader.start()
        refusal = ended(leader, times=2)
        assert "was synced once; committed records may be lost here, so this log is not" in refusal
        goes_on(quorum, appending)


def test_a_replica_that_finds_rotten_data_for_a_reader_stops_with_the_reason(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running(tmp_path, kraftlake__log__newest__bytes="0") as node:
            await leads(node)
            appended = await append(node, b"x" * 100)
            rot(Path(node.settings.partition_folder), node.driver.log.size_bytes - 10)
            with pytest.raises(PeerError):
                await fetched(node, appended.base_offset)
            assert node.driver.has_failed

    with pytest.raises(CorruptDataError, match=r"0\.log: byte \d+: .* its CRC is not that of"):
        asyncio.run(asyncio.wait_for(story(), 60))
