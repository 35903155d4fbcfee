"""Batches from bytes that a peer sent or a disk kept: all right, or a DataError with the byte."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import CorruptDataError, DataError
from replica.format.control import KRaftVoters
from replica.format.frames import frames
from replica.format.whole_batch import control_batch
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter
from replica.simulate.disk import SimulatedDisk
from replica.storage.batch_walk import walk
from replica.storage.batches import batches_of, bytes_of, control_records
from tests.replica.storage.content import batch, batches, leader_change, on_disk

FETCHED = on_disk([leader_change(7, epoch=2), *batches(8, 3, epoch=2), batch(11, 4, epoch=5)])


def test_fetched_bytes_become_batches_that_lie_one_after_another() -> None:
    found = batches_of(FETCHED, 7, epoch=1)
    assert [(b.base_offset, b.last_offset, b.epoch) for b in found] == [
        (7, 7, 2),
        (8, 8, 2),
        (9, 9, 2),
        (10, 10, 2),
        (11, 14, 5),
    ]
    assert b"".join(bytes_of(b) for b in found) == FETCHED
    assert [len(b.control) for b in found] == [1, 0, 0, 0, 0]


def test_a_fetched_batch_goes_to_disk_in_the_bytes_that_came() -> None:
    assert all(bytes_of(each) is each.data for each in batches_of(FETCHED, 7))


def test_bytes_whose_reader_has_checked_their_crc_are_not_checked_again() -> None:
    flipped = FETCHED[:-1] + bytes([FETCHED[-1] ^ 1])
    with pytest.raises(CorruptDataError, match="CRC"):
        batches_of(flipped, 7)
    assert len(batches_of(flipped, 7, check_crc=False)) == 5


def test_a_batch_that_the_response_cut_is_left_out() -> None:
    assert [b.base_offset for b in batches_of(FETCHED[:-1], 7)] == [7, 8, 9, 10]
    assert batches_of(FETCHED[:30], 7) == ()
    assert batches_of(b"", 7) == ()


def test_bytes_that_start_elsewhere_are_refused() -> None:
    with pytest.raises(CorruptDataError, match="byte 0: batch starts at offset 7 instead of 6"):
        batches_of(FETCHED, 6)


@pytest.mark.parametrize("base_offset", [-1, -(2**63)])
def test_a_negative_offset_is_refused_where_any_other_may_begin(base_offset: int) -> None:
    data = base_offset.to_bytes(8, "big", signed=True) + on_disk(batches(0, 1))[8:]
    with pytest.raises(CorruptDataError, match="byte 0: the base offset is negative"):
        batches_of(data)


def test_a_gap_between_batches_is_refused_at_its_byte() -> None:
    first = batch(0)
    with pytest.raises(CorruptDataError, match=f"byte {len(first.data)}: .* 2 instead of 1"):
        batches_of(on_disk([first, batch(2)]), 0)


@pytest.mark.parametrize("epoch", [2, 3])
def test_an_epoch_that_goes_back_is_refused(epoch: int) -> None:
    later = on_disk([batch(0, epoch=epoch), batch(1, epoch=epoch - 1)])
    with pytest.raises(CorruptDataError, match=f"leader epoch {epoch - 1} after {epoch}"):
        batches_of(later, 0)
    with pytest.raises(CorruptDataError, match="after 9 at offset 0"):
        batches_of(later, 0, epoch=9)


@given(st.integers(0, len(FETCHED) * 8 - 1))
def test_no_flipped_bit_passes_unless_it_only_cuts_the_end_or_raises_an_epoch(bit: int) -> None:
    flipped = bytearray(FETCHED)
    flipped[bit // 8] ^= 1 << bit % 8
    try:
        found = batches_of(bytes(flipped), 7)
    except DataError:
        return
    # the CRC covers neither the length nor the epoch
    kept = b"".join(bytes_of(b) for b in found)
    assert kept == bytes(flipped)[: len(kept)]
    assert len(kept) < len(FETCHED) or any(b.epoch not in (2, 5) for b in found)


@given(st.binary(max_size=300))
def test_any_bytes_are_batches_or_a_data_error(data: bytes) -> None:
    try:
        found = list(frames(data, start=0, expected_offset=None))
    except DataError:
        return
    assert sum(frame.size for frame in found) <= len(data)


@pytest.mark.parametrize("piece_bytes", [61, 100, 4096])
def test_a_file_is_walked_alike_in_pieces_of_any_size(piece_bytes: int) -> None:
    content = on_disk([batch(0), batch(1, size=5000), batch(2, records=9), *batches(11, 20)])
    disk = SimulatedDisk(Random(1))
    disk.make_directory("/d")
    with disk.create("/d/a") as file:
        file.write(0, content)
        walked = list(walk(file, expected_offset=0, piece_bytes=piece_bytes))
        assert b"".join(bytes(data) for _, data in walked) == content
        assert [f.position for f, _ in walked] == [0, *(f.end_position for f, _ in walked[:-1])]
        file.truncate(len(content) - 1)
        with pytest.raises(DataError, match=f"/d/a: byte {walked[-1][0].position}: "):
            list(walk(file, expected_offset=0, piece_bytes=piece_bytes))


def test_a_compacted_topic_has_holes_and_epochs_of_old_clients():
    later = [batch(0, epoch=5), batch(4, epoch=-1), batch(9, epoch=2)]
    found = frames(on_disk(later), start=0, expected_offset=0, holes=True)
    assert [(frame.base_offset, frame.epoch) for frame in found] == [(0, 5), (4, -1), (9, 2)]
    with pytest.raises(CorruptDataError, match="offset 0 instead of 5 or later"):
        list(frames(on_disk([batch(4), batch(0)]), start=0, expected_offset=0, holes=True))
    with pytest.raises(CorruptDataError, match="offset 4 instead of 1"):
        list(frames(on_disk([batch(0), batch(4)]), start=0, expected_offset=0))


def test_a_voters_record_that_names_a_node_twice_is_corrupt():
    twice = KRaftVoters(0, (Voter(ReplicaKey(1)), Voter(ReplicaKey(1, "qufyMfPsTZ27gBxKC_Me3w"))))
    batch = control_batch(0, 1, 5, [twice])
    with pytest.raises(CorruptDataError, match="a voters record names a node twice"):
        control_records(batch)
