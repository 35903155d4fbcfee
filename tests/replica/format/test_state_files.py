"""The small files of a directory: forms that the recordings don't show."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

import pytest

from replica.errors import CorruptDataError, DataError, TruncatedDataError, UnsupportedDataError
from replica.format import (
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    quorum_state,
)
from replica.format.file_names import FileKind, classify
from replica.format.snapshot import SnapshotName, SnapshotState, parse_name
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.keys import METADATA_TOPIC_ID, ZERO_UUID, ReplicaId
from tests.traced_memory import peak_of

DIRECTORY = "vVWAweqkRhqksC9dk42J8Q"
NO_VOTE = f'"leaderId":-1,"votedId":-1,"votedDirectoryId":"{ZERO_UUID}"'
STATIC_STATE = (
    b'{"clusterId":"","leaderId":-1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[],"data_version":0}'
)


def test_meta_properties_of_zookeeper_times_name_a_broker() -> None:
    data = b"#\n#Mon Jan 01 00:00:00 UTC 2024\nbroker.id=4\nversion=0\ncluster.id=abc\n"
    meta = meta_properties.decode(data)
    assert (meta.version, meta.replica) == (0, ReplicaId("abc", 4, ZERO_UUID))
    assert meta_properties.encode(meta) == data


def test_meta_properties_without_cluster_or_node_name_no_replica() -> None:
    assert meta_properties.decode(b"version=0\nbroker.id=4\n").replica is None
    assert meta_properties.decode(b"version=1\ncluster.id=abc\nbroker.id=4\n").replica is None


@pytest.mark.parametrize(
    "line",
    [
        b"cluster.id=a\\=b\\:c",
        b"cluster.id = a\\=b\\:c",
        b"cluster.id: a=b:c",
        b"  cluster.id\ta=b:c",
        b"cluster.id=\\u0061=b\\u003Ac",
        b"cluster\\.id=a=b:c",
        b"cluster.id=old\ncluster.id=a=b:c",
        b"cluster.id=a=\\\n    b:c",
        b"cluster.id=a=b:c\r",
        b"cluster.id=a=b:c\rother=1",
        b"! note\r\ncluster.id=a=b:c",
    ],
)
def test_properties_are_read_as_java_reads_them(line: bytes) -> None:
    data = b"version=1\n" + line + b"\nnode.id=1\n"
    meta = meta_properties.decode(data)
    assert (meta.cluster_id, meta.node_id) == ("a=b:c", 1)
    assert meta_properties.encode(meta) == data


def test_java_keeps_the_blanks_behind_a_value() -> None:
    assert meta_properties.decode(b"version=1\ncluster.id=abc \n").cluster_id == "abc "


def test_properties_are_latin_1_and_escapes_make_any_character() -> None:
    data = b"# caf\xe9\nversion=1\ncluster.id=\xe9\\ud83d\\ude00\\t\\n\n"
    meta = meta_properties.decode(data)
    assert meta.cluster_id == "é😀\t\n"
    assert meta_properties.encode(meta) == data


def test_new_meta_properties_escape_what_java_escapes() -> None:
    replica = ReplicaId(" a=b:c#!\\é😀\t", 7, DIRECTORY)
    meta = meta_properties.new_meta_properties(replica, ("", "today"))
    data = meta_properties.encode(meta)
    assert data == (
        b"#\n#today\nnode.id=7\ndirectory.id=vVWAweqkRhqksC9dk42J8Q\nversion=1\n"
        b"cluster.id=\\ a\\=b\\:c\\#\\!\\\\\\u00E9\\uD83D\\uDE00\\t\n"
    )
    assert meta_properties.decode(data) == meta


@pytest.mark.parametrize(
    ("data", "position", "error"),
    [
        (b"node.id=1\n", 0, CorruptDataError),
        (b"#\nversion=2\n", 2, UnsupportedDataError),
        (b"version=1\nnode.id=-1\n", 10, CorruptDataError),
        (b"version=1\nnode.id=2147483648\n", 10, CorruptDataError),
        (b"version=1\ndirectory.id=short\n", 10, CorruptDataError),
        (b"version=1\nx=\\u00g0\n", 10, CorruptDataError),
    ],
)
def test_wrong_properties_are_refused_at_their_line(
    data: bytes, position: int, error: type[DataError]
) -> None:
    with pytest.raises(error) as caught:
        meta_properties.decode(data)
    assert caught.value.position == position


def test_the_draft_field_of_quorum_state_is_read() -> None:
    for key in ("votedUuid", "voterUuid"):
        data = (
            f'{{"leaderId":-1,"leaderEpoch":3,"votedId":2,"{key}":"{DIRECTORY}","data_version":1}}'
        )
        state = quorum_state.decode(data.encode())
        assert (state.voted_id, state.voted_directory_id) == (2, DIRECTORY)
        assert quorum_state.encode(state) == data.encode()


def test_unknown_fields_of_quorum_state_are_kept_in_their_place() -> None:
    data = f'{{"leaderEpoch":3,"später":[1.5,null,"é"],{NO_VOTE},"data_version":1}}'.encode()
    state = quorum_state.decode(data)
    assert (state.leader_id, state.voted_id, state.leader_epoch) == (-1, -1, 3)
    assert quorum_state.encode(state) == data


def test_of_a_key_written_twice_the_last_counts() -> None:
    data = f'{{"leaderEpoch":3,"leaderEpoch":4,{NO_VOTE},"data_version":1}}'.encode()
    assert quorum_state.decode(data).leader_epoch == 4


@pytest.mark.parametrize("version", [0, 1])
def test_a_quorum_state_without_one_of_kafkas_fields_is_refused_as_kafka_refuses_it(
    version: int,
) -> None:
    whole = json.loads(
        quorum_state.encode(quorum_state.new_state(version=version, leader_id=1, leader_epoch=3))
    )
    assert quorum_state.decode(json.dumps(whole).encode()).leader_epoch == 3
    for key in whole:
        rest = {name: value for name, value in whole.items() if name != key}
        with pytest.raises(CorruptDataError, match=f"{key} is missing"):
            quorum_state.decode(json.dumps(rest).encode())


def _voted_for(directory: str) -> bytes:
    """A state of version 1 with this JSON as its votedDirectoryId."""
    voted = f'"votedId":2,"votedDirectoryId":{directory}'
    return f'{{"leaderId":-1,"leaderEpoch":3,{voted},"data_version":1}}'.encode()


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b'{"leaderEpoch":3}', 0),
        (b'{"leaderEpoch":3,"data_version":2}', 0),
        (f'{{"leaderEpoch":2147483648,{NO_VOTE},"data_version":1}}'.encode(), 0),
        (STATIC_STATE.replace(b"[]", b"[1]"), 0),
        (STATIC_STATE.replace(b"[]", b'"x"'), 0),
        (STATIC_STATE.replace(b"[]", b"null"), 0),
        (_voted_for('"../x"'), 0),
        (_voted_for("null"), 0),
        (_voted_for("5"), 0),
        ('{"é":x}'.encode(), 6),
        (b'{"leaderEpoch":\xff}', 15),
    ],
)
def test_a_wrong_quorum_state_is_refused_with_the_byte(data: bytes, position: int) -> None:
    with pytest.raises(DataError) as caught:
        quorum_state.decode(data)
    assert caught.value.position == position


def test_checkpoints_with_windows_line_ends_are_read_as_java_does() -> None:
    expected = (EpochStart(3, 0), EpochStart(5, 378))
    assert leader_epoch_checkpoint.decode(b"0\r\n2\r\n3 0\r\n5 378\r\n") == expected
    assert leader_epoch_checkpoint.decode(b"0\n2\n3 0\n5 378") == expected


@pytest.mark.parametrize(
    ("data", "position", "error"),
    [
        (b"", 0, TruncatedDataError),
        (b"0\n", 2, TruncatedDataError),
        (b"1\n0\n", 0, UnsupportedDataError),
        (b"0\n2\n3 0\n", 2, CorruptDataError),
        (b"0\n1\n3 0\n5 1\n", 2, CorruptDataError),
        (b"0\n1\n3\n", 4, CorruptDataError),
        (b"0\n1\n3 0 0\n", 4, CorruptDataError),
        (b"0\n1\n\n3 0\n", 4, CorruptDataError),
        (b"0\n1\n3 -1\n", 4, CorruptDataError),
        (b"0\n1\n2147483648 0\n", 4, CorruptDataError),
    ],
)
def test_a_wrong_checkpoint_is_refused_at_its_line(
    data: bytes, position: int, error: type[DataError]
) -> None:
    with pytest.raises(error) as caught:
        leader_epoch_checkpoint.decode(data)
    assert caught.value.position == position


def test_partition_metadata_names_the_topic_id() -> None:
    data = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
    assert partition_metadata.encode(METADATA_TOPIC_ID) == data
    for end in (b"", b"\n", b"\r\n"):
        found = partition_metadata.decode(data.replace(b"\n", b"\r\n") + end)
        assert found == METADATA_TOPIC_ID
    for wrong in (b"+AAAAAAAAAAAAAAAAAAAAQ", b"AAAA", b"AAAAAAAAAAAAAAAAAAAAAQ=="):
        with pytest.raises(CorruptDataError) as caught:
            partition_metadata.decode(b"version: 0\ntopic_id: " + wrong)
        assert caught.value.position == 11


def test_index_entries_must_rise() -> None:
    sound = struct.pack(">iiii", 5, 100, 9, 300)
    assert len(index.decode_offset_index(sound).entries) == 2
    for pair in ((5, 400), (9, 100), (3, 50)):
        with pytest.raises(CorruptDataError) as caught:
            index.decode_offset_index(struct.pack(">ii", 5, 100) + struct.pack(">ii", *pair))
        assert caught.value.position == 8
    with pytest.raises(CorruptDataError, match="negative"):
        index.decode_offset_index(struct.pack(">ii", -5, 100))


def test_a_time_index_may_repeat_its_last_entry_but_not_go_back() -> None:
    entry = struct.pack(">qi", 1000, 5)
    assert len(index.decode_time_index(entry + entry).entries) == 2
    for pair in ((999, 6), (1001, 4)):
        with pytest.raises(CorruptDataError) as caught:
            index.decode_time_index(entry + struct.pack(">qi", *pair))
        assert caught.value.position == 12


def test_an_index_holds_whole_entries_only_zeros_or_not() -> None:
    for data in (struct.pack(">ii", 5, 100) + b"\x01", bytes(15)):
        with pytest.raises(CorruptDataError, match="no whole entry") as caught:
            index.decode_offset_index(data)
        assert caught.value.position == 8
    # the position ends in zero bytes, which belong to the entry
    assert index.decode_offset_index(struct.pack(">ii", 5, 256)).entries[0].position == 256


@pytest.mark.parametrize(
    ("decode", "layout"),
    [(index.decode_offset_index, ">ii"), (index.decode_time_index, ">qi")],
)
def test_a_large_index_takes_little_memory_besides_its_entries(
    decode: Callable[[bytes], object], layout: str
) -> None:
    count = 20_000
    sound = b"".join(struct.pack(layout, n, n) for n in range(1000, 1000 + count))
    assert peak_of(lambda: decode(sound)) < 150 * count

    def refused() -> None:
        with pytest.raises(CorruptDataError):
            decode(struct.pack(layout, 2, 2) + struct.pack(layout, 1, 1) + sound)

    assert peak_of(refused) < 60 * count


@pytest.mark.parametrize(
    ("name", "kind", "base_offset", "deleted"),
    [
        ("00000000000000000519.log", FileKind.SEGMENT, 519, False),
        ("00000000000000000519.log.deleted", FileKind.SEGMENT, 519, True),
        ("00000000000000000519.index", FileKind.OFFSET_INDEX, 519, False),
        ("00000000000000000519.timeindex", FileKind.TIME_INDEX, 519, False),
        ("00000000000000000519.snapshot", FileKind.PRODUCER_SNAPSHOT, 519, False),
        ("quorum-state", FileKind.QUORUM_STATE, None, False),
        ("bootstrap.checkpoint", FileKind.BOOTSTRAP, None, False),
        ("519.log", FileKind.OTHER, None, False),
        ("٣0000000000000000519.log", FileKind.OTHER, None, False),
        ("99999999999999999999.log", FileKind.OTHER, None, False),
        ("00000000000000000519.log.swap", FileKind.OTHER, None, False),
        ("quorum-state.tmp", FileKind.OTHER, None, False),
        (".lock", FileKind.OTHER, None, False),
    ],
)
def test_file_names_tell_the_kind(
    name: str, kind: FileKind, base_offset: int | None, deleted: bool
) -> None:
    found = classify(name)
    assert (found.kind, found.base_offset, found.deleted) == (kind, base_offset, deleted)


def test_snapshot_names_are_taken_apart() -> None:
    an_id = OffsetAndEpoch(519, 5)
    stem = "00000000000000000519-0000000005"
    assert parse_name(f"{stem}.checkpoint") == SnapshotName(an_id)
    assert parse_name(f"{stem}-8123.checkpoint.part") == SnapshotName(
        an_id, SnapshotState.PART, "-8123"
    )
    assert parse_name(f"{stem}.checkpoint.deleted") == SnapshotName(an_id, SnapshotState.DELETED)
    draft = "00000000000000000519-00000000000000000005.checkpoint"
    assert parse_name(draft) == SnapshotName(an_id, epoch_digits=20)
    for wrong in (f"{stem}-8123.checkpoint", f"{stem}.checkpoint.", "bootstrap.checkpoint"):
        assert parse_name(wrong) is None
    assert parse_name("00000000000000000519-9999999999.checkpoint") is None
