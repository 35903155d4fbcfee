"""Snapshots from .part to .deleted, on the real disk and on the simulated one."""

from __future__ import annotations

import pytest

from replica.errors import DataError
from replica.format import control
from replica.format.batch import decode_header
from replica.format.control import SnapshotFooter, SnapshotHeader
from replica.format.record import records_of
from replica.format.whole_batch import control_batch, messages_in
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.stored import SnapshotFacts
from replica.model.voters import Endpoint, Voter, VoterSet
from replica.storage import snapshot_writer
from replica.storage.snapshots import SnapshotFiles
from tests.replica.storage.conftest import Place

ID = OffsetAndEpoch(519, 5)
NAME = "00000000000000000519-0000000005.checkpoint"
VOTERS = VoterSet(
    (Voter(ReplicaKey(1, "qufyMfPsTZ27gBxKC_Me3w"), (Endpoint("CONTROLLER", "127.0.0.1", 19091),)),)
)


def values_in(snapshots: SnapshotFiles, snapshot_id: OffsetAndEpoch) -> list[bytes | None]:
    return [
        record.value
        for batch in snapshots.batches(snapshot_id)
        if not batch.data[22] & 0x20
        for record in records_of(decode_header(batch.data), batch.data)
    ]


def written(place: Place, snapshot_id: OffsetAndEpoch = ID, records: int = 3) -> bytes:
    """The bytes of a snapshot that was made here."""
    snapshots = SnapshotFiles(place.files, place.folder)
    writer = snapshots.write(snapshot_id, 1234, (KRaftVersion(1), KRaftVoters(VOTERS)))
    writer.append([b"value %d" % n for n in range(records)])
    size = writer.freeze().size
    return snapshots.read(snapshot_id, 0, size + 100)


def test_a_frozen_snapshot_has_its_name_its_facts_and_its_records(place: Place) -> None:
    data = written(place)
    assert place.names() == (NAME,)
    snapshots = SnapshotFiles(place.files, place.folder)
    assert snapshots.facts() == (SnapshotFacts(ID, len(data), 1234, VOTERS, 1),)
    assert values_in(snapshots, ID) == [b"value 0", b"value 1", b"value 2"]


@pytest.mark.scenario("G37")
def test_an_empty_snapshot_is_a_header_and_a_footer(place: Place) -> None:
    snapshots = SnapshotFiles(place.files, place.folder)
    facts = snapshots.write(ID, 99, ()).freeze()
    assert facts == SnapshotFacts(ID, facts.size, 99, None, 0)
    found = list(snapshots.batches(ID))
    assert [(b.base_offset, b.epoch) for b in found] == [(0, 5), (1, 5)]
    first, last = (messages_in(batch.data) for batch in found)
    assert (first, last) == ((SnapshotHeader(0, 99),), (SnapshotFooter(0),))


@pytest.mark.scenario("G37")
def test_version_and_voters_stand_behind_the_header_where_voters_are_in_the_log(
    place: Place,
) -> None:
    written(place, records=0)
    found = list(SnapshotFiles(place.files, place.folder).batches(ID))
    messages = [message for batch in found for message in messages_in(batch.data)]
    kinds = [type(message) for message in messages]
    assert kinds == [SnapshotHeader, control.KRaftVersion, control.KRaftVoters, SnapshotFooter]


def test_many_records_make_several_batches_whose_offsets_go_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_writer, "BATCH_BYTES", 100)
    snapshots = SnapshotFiles(place.files, place.folder)
    writer = snapshots.write(ID, 1, ())
    values = [bytes([n]) * 40 for n in range(20)]
    for value in values:
        writer.append([value])
    writer.freeze()
    found = list(snapshots.batches(ID))
    assert len(found) > 5
    assert [b.base_offset for b in found[1:]] == [b.end_offset for b in found[:-1]]
    assert values_in(snapshots, ID) == values


@pytest.mark.scenario("G36")
def test_nothing_is_visible_before_the_freeze_and_nothing_is_left_of_an_abort(
    place: Place,
) -> None:
    snapshots = SnapshotFiles(place.files, place.folder)
    writer = snapshots.write(ID, 1, ())
    writer.append([b"x"])
    assert list(snapshots) == []
    assert all(name.endswith(".part") for name in place.names())
    writer.abort()
    assert place.names() == ()
    frozen = snapshots.write(ID, 1, ())
    frozen.freeze()
    with pytest.raises(AssertionError, match="takes no more records"):
        frozen.append([b"x"])
    frozen.abort()
    assert place.names() == (NAME,)


@pytest.mark.scenario("G05", "G13")
@pytest.mark.parametrize("slice_bytes", [1, 7, 64, 10**6])
def test_a_snapshot_travels_in_slices_that_cut_batches(place: Place, slice_bytes: int) -> None:
    data = written(place)
    source = SnapshotFiles(place.files, place.folder)
    target_folder = place.folder + "-fetched"
    place.files.make_directory(target_folder)
    target = SnapshotFiles(place.files, target_folder)
    for position in range(0, len(data), slice_bytes):
        piece = source.read(ID, position, slice_bytes)
        assert piece == data[position : position + slice_bytes]
        target.write_part(ID, position, piece)
    assert target.freeze(ID) == source.facts()[0]
    assert target.read(ID, 0, 10**6) == data
    assert place.files.names(target_folder) == (NAME,)


def test_position_zero_starts_a_fetch_anew(place: Place) -> None:
    data = written(place)
    snapshots = SnapshotFiles(place.files, place.folder)
    other = OffsetAndEpoch(600, 5)
    snapshots.write_part(other, 0, b"rubbish that is longer than nothing")
    snapshots.write_part(other, 0, data)
    assert snapshots.freeze(other).snapshot_id == other


def broken(data: bytes) -> dict[str, bytes]:
    middle = len(data) // 2
    header_size = 12 + int.from_bytes(data[8:12], "big")
    return {
        "nothing": b"",
        "no footer": data[:-78] if len(data) > 78 else b"",
        "torn": data[:-1],
        "a flipped bit": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "zeros behind": data + bytes(100),
        "no header": data[header_size:],
        "another epoch": data[:12] + (4).to_bytes(4, "big") + data[16:],
        "the batches twice": data + data,
    }


@pytest.mark.parametrize("what", sorted(broken(bytes(200))))
def test_a_snapshot_that_is_not_whole_is_refused_and_its_part_removed(
    place: Place, what: str
) -> None:
    data = broken(written(place))[what]
    snapshots = SnapshotFiles(place.files, place.folder)
    other = OffsetAndEpoch(600, 5)
    snapshots.write_part(other, 0, data)
    with pytest.raises(DataError, match=r"-1\.checkpoint\.part: byte \d+: "):
        snapshots.freeze(other)
    assert place.names() == (NAME,)
    assert list(snapshots) == [ID]


def test_voters_that_name_a_node_twice_are_an_error_with_the_file(place: Place) -> None:
    """A voters record can name a node twice in a batch whose CRC is right. The error has to name
    the file."""
    (voter,) = VOTERS.voters
    twice = control.KRaftVoters(0, (voter, voter))
    head = control_batch(0, 5, 1234, (SnapshotHeader(0, 1234), twice))
    data = head + control_batch(2, 5, 1234, (SnapshotFooter(0),))
    snapshots = SnapshotFiles(place.files, place.folder)
    snapshots.write_part(ID, 0, data)
    with pytest.raises(DataError, match=r"\.part: byte 0: a voters record names a node twice"):
        snapshots.freeze(ID)
    place.put(NAME, data)
    with pytest.raises(DataError, match=rf"{NAME}: byte 0: a voters record names a node twice"):
        place.open()


def test_snapshots_are_ordered_by_epoch_then_offset(place: Place) -> None:
    for snapshot_id in (OffsetAndEpoch(9, 2), OffsetAndEpoch(30, 1), OffsetAndEpoch(8, 2)):
        written(place, snapshot_id)
    snapshots = SnapshotFiles(place.files, place.folder)
    assert list(snapshots) == [OffsetAndEpoch(30, 1), OffsetAndEpoch(8, 2), OffsetAndEpoch(9, 2)]
    assert snapshots.newest == OffsetAndEpoch(9, 2)


def test_deleted_snapshots_are_gone_and_an_unknown_one_is_no_error(place: Place) -> None:
    written(place)
    written(place, OffsetAndEpoch(600, 5))
    snapshots = SnapshotFiles(place.files, place.folder)
    snapshots.delete([ID, OffsetAndEpoch(1, 1)])
    assert list(snapshots) == [OffsetAndEpoch(600, 5)]
    assert NAME not in place.names()
    assert list(SnapshotFiles(place.files, place.folder)) == [OffsetAndEpoch(600, 5)]


def test_two_replicas_write_the_same_bytes_for_the_same_state(place: Place) -> None:
    first = written(place)
    SnapshotFiles(place.files, place.folder).delete([ID])
    assert written(place) == first
