"""What a read of the log gives, and where it ends; on the real disk and on the simulated one."""

from __future__ import annotations

import pytest

from replica.errors import CorruptDataError
from tests.replica.storage.conftest import Place
from tests.replica.storage.content import batch, batches, offsets
from tests.replica.storage.test_log import everything, snapshot_at


@pytest.mark.scenario("B28")
def test_a_read_inside_a_batch_gives_the_whole_batch(place: Place) -> None:
    log = place.open()
    log.append([batch(0, records=20), batch(20, records=10)])
    assert offsets(log.read(25, 10**6)) == [20]
    assert offsets(log.read(19, 10**6)) == [0, 20]


def test_a_read_gives_whole_batches_up_to_its_limit_but_at_least_one(place: Place) -> None:
    log = place.open()
    written = batches(0, 10)
    log.append(written)
    size = len(written[0].data)
    assert offsets(log.read(2, 1)) == [2]
    assert offsets(log.read(2, 3 * size - 1)) == [2, 3]
    assert offsets(log.read(2, 3 * size)) == [2, 3, 4]


def test_bytes_that_were_read_stay_when_their_part_of_the_log_is_truncated_and_written_anew(
    place: Place,
) -> None:
    """An answer is sent from them, which may take long: it promised these bytes."""
    log = place.open()
    log.append(batches(0, 8))
    log.flush()
    before = bytes(answer := log.read(0, 10**6))
    log.truncate_to(2)
    log.append(batches(2, 6, epoch=2))
    log.flush()
    assert bytes(log.read(0, 10**6)) != before
    assert answer == before


@pytest.mark.scenario("B29")
def test_a_read_up_to_an_end_offset_is_empty_at_and_above_it(place: Place) -> None:
    log = place.open()
    log.append([batch(0, records=20), batch(20, records=20)])
    assert offsets(log.read(10, 10**6, 20)) == [0]
    for start in (20, 30, 40):
        assert log.read(start, 10**6, 20) == b""


def test_a_read_ends_before_a_batch_that_starts_at_the_end_offset(place: Place) -> None:
    log = place.open()
    log.append([batch(0, records=5), batch(5, records=5)])
    assert offsets(log.read(0, 10**6, 5)) == [0]
    assert offsets(log.read(0, 10**6, 6)) == [0, 5]
    assert log.read(6, 10**6, 5) == b""


@pytest.mark.scenario("B27")
def test_a_read_at_the_log_end_is_empty_and_outside_the_log_is_the_hosts_bug(
    place: Place,
) -> None:
    log = place.open()
    log.append(batches(0, 8))
    log.flush()
    snapshot_at(log, 4, 1)
    log.advance_log_start(4)
    assert log.read(8, 100) == b""
    for outside in (3, 9):
        with pytest.raises(AssertionError, match="doesn't hold"):
            log.read(outside, 100)


@pytest.mark.scenario("F22")
def test_a_read_at_the_high_watermark_is_empty_where_a_segment_begins_there(place: Place) -> None:
    log = place.open(segment_bytes=300)
    log.append(batches(0, 12))
    rolled = int([name for name in place.names() if name.endswith(".log")][1][:20])
    assert log.read(rolled, 10**6, rolled) == b""
    assert offsets(log.read(rolled - 1, 10**6, rolled)) == [rolled - 1]


def test_a_read_at_the_end_of_a_rolled_segment_goes_on_in_the_next(place: Place) -> None:
    log = place.open(segment_bytes=300, newest_bytes=0)
    log.append(batches(0, 12))
    names = [name for name in place.names() if name.endswith(".log")]
    assert len(names) > 2
    second = int(names[1][:20])
    assert offsets(log.read(second - 1, 10**6)) == [second - 1]
    assert offsets(log.read(second, 1)) == [second]
    assert offsets(everything(log)) == list(range(12))


@pytest.mark.scenario("J18")
def test_a_batch_that_rotted_on_disk_is_not_given(place: Place) -> None:
    log = place.open(newest_bytes=0)
    log.append(batches(0, 3))
    log.flush()
    data = place.content("00000000000000000000.log")
    position = len(data) // 3
    with place.files.open(f"{place.folder}/00000000000000000000.log") as file:
        file.write(2 * position - 1, bytes([data[2 * position - 1] ^ 1]))
    assert offsets(log.read(0, position)) == [0]
    with pytest.raises(CorruptDataError, match=f"0.log: byte {position}: .*CRC"):
        log.read(1, position)
