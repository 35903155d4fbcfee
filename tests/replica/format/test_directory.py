"""read_directory on recorded directories, and on copies that were damaged."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from pathlib import Path

import pytest

from replica.errors import UnreadableFileError, UsageError
from replica.format.damage import DamageKind
from replica.format.directory import MetadataDirectory, read_directory
from replica.format.reading import VanishedFileError, read_file
from replica.model.epochs import EpochStart
from replica.model.keys import ZERO_UUID, ReplicaId

DATA = Path(__file__).parents[2] / "data"
FOLDER = "__cluster_metadata-0"
STATIC_12 = "kafka-3.7.2-static/final/12"
DYNAMIC_2 = "kafka-4.1.1-dynamic/split/2"
STATE_FILES = ("leader-epoch-checkpoint", "quorum-state", "partition.metadata")

# first batch, log start, log end; whole snapshots
TRUTH = {
    "kafka-3.7.2-static/final/1": (0, 0, 1925, ["519-5", "1913-8"]),
    "kafka-3.7.2-static/final/12": (519, 1913, 1925, ["1913-8"]),
    "kafka-3.7.2-static/final/3": (519, 519, 1925, ["519-5", "1913-8"]),
    "kafka-3.7.2-static/live/3": (519, 519, 749, ["519-5"]),
    "kafka-3.7.2-static/split/2": (0, 0, 772, ["519-5"]),
    "kafka-3.7.2-static/split/11": (0, 0, 772, ["531-5"]),
    "kafka-3.7.2-static/split/3": (519, 519, 1435, ["519-5"]),
    "kafka-4.1.1-dynamic/live/1": (0, 0, 1524, []),
    "kafka-4.1.1-dynamic/split/2": (0, 0, 1548, ["0-0", "1496-5"]),
    "kafka-4.1.1-dynamic/split/11": (0, 0, 1548, ["792-3"]),
    "kafka-4.1.1-dynamic/split/3": (0, 0, 2712, ["0-0", "2571-6"]),
    "kafka-4.1.1-dynamic/final/2": (0, 0, 3673, ["0-0", "1496-5"]),
    "kafka-4.4.0-dynamic/live/3": (0, 0, 941, ["0-0", "771-3"]),
    "kafka-4.4.0-dynamic/split/2": (0, 0, 966, ["0-0"]),
    "kafka-4.4.0-dynamic/split/12": (771, 771, 1636, ["771-3"]),
}


def fingerprint(root: Path) -> dict[str, tuple[int, int, str]]:
    """(mtime, size, hash) of every file and the mtime of every folder."""
    found = {}
    for path in sorted([root, *root.rglob("*")]):
        status = path.lstat()
        regular = path.is_file() and not path.is_symlink()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if regular else ""
        found[str(path)] = (status.st_mtime_ns, status.st_size, digest)
    return found


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A copy of a recorded node that may be damaged."""
    return Path(shutil.copytree(DATA / DYNAMIC_2, tmp_path / "node"))


def read(node: Path) -> MetadataDirectory:
    """The node's directory. Asserts that reading it changes no file, folder or time."""
    before = fingerprint(node)
    found = read_directory(str(node / FOLDER))
    assert fingerprint(node) == before
    return found


def damages(found: MetadataDirectory) -> list[tuple[str, DamageKind]]:
    return [(damage.file.removeprefix(f"{FOLDER}/"), damage.kind) for damage in found.damages]


@pytest.mark.parametrize("name", TRUTH)
def test_a_recorded_directory_starts_and_ends_where_kafka_says(name: str) -> None:
    found = read(DATA / name)
    snapshots = [f"{s.id.offset}-{s.id.epoch}" for s in found.snapshots if s.id and s.is_usable]
    facts = (found.first_offset, found.log_start_offset, found.log_end_offset, snapshots)
    assert facts == TRUTH[name]


def test_no_recorded_directory_holds_damage_and_every_one_knows_its_replica() -> None:
    paths = sorted(DATA.glob("*/*/*/"))
    assert len(paths) == 42
    for path in paths:
        found = read_directory(str(path / FOLDER))
        assert found.damages == (), path
        assert found.replica is not None
        assert found.replica.node_id == int(path.name)
        assert found.topic_id == "AAAAAAAAAAAAAAAAAAAAAQ"
        assert found.quorum_state is not None
        if "kafka-4.4.0" in str(path):  # its 0-0.checkpoint holds the bootstrap metadata records
            assert found.bootstrap is None
        else:
            assert found.bootstrap is not None
            assert found.bootstrap.is_whole
        on_disk = sum(1 for file in path.rglob("*") if file.is_file())
        assert len(found.files) == on_disk


def test_deleted_segments_and_snapshots_are_read_but_are_no_part_of_the_log() -> None:
    found = read_directory(str(DATA / "kafka-3.7.2-static/live/3" / FOLDER))
    (deleted,) = found.deleted_segments
    assert (deleted.base_offset, deleted.end_offset) == (0, 378)
    assert found.first_offset == 519
    later = read_directory(str(DATA / STATIC_12 / FOLDER))
    assert [(s.state.value, s.is_usable) for s in later.snapshots] == [
        ("deleted", False),
        ("complete", True),
    ]


def test_a_directory_read_whole_has_its_epochs_and_its_replica() -> None:
    found = read(DATA / "kafka-3.7.2-static/split/2")
    assert found.leader_epochs == (EpochStart(3, 0), EpochStart(5, 378), EpochStart(7, 549))
    assert found.replica is not None
    assert (found.replica.cluster_id, found.replica.node_id) == ("gT_wj4dEReaNt2vnLWy9Aw", 2)
    assert found.replica.directory_id != ZERO_UUID


@pytest.mark.parametrize("name", STATE_FILES)
def test_an_empty_state_file_is_named_and_the_rest_is_read(node: Path, name: str) -> None:
    (node / FOLDER / name).write_bytes(b"")
    found = read(node)
    assert damages(found) == [(name, DamageKind.EMPTY_FILE)]
    assert found.log_end_offset == 1548


def test_an_empty_snapshot_is_named_and_not_whole(node: Path) -> None:
    name = "00000000000000001496-0000000005.checkpoint"
    (node / FOLDER / name).write_bytes(b"")
    found = read(node)
    assert damages(found) == [(name, DamageKind.EMPTY_FILE)]
    assert [s.is_usable for s in found.snapshots] == [True, False]


def test_zeros_at_the_end_of_a_snapshot_are_named(node: Path) -> None:
    path = node / FOLDER / "00000000000000001496-0000000005.checkpoint"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(4096))
    found = read(node)
    (damage,) = found.damages
    assert (damage.kind, damage.position, damage.length) == (DamageKind.ZERO_HOLE, size, 4096)
    assert not found.snapshots[1].is_usable


def test_a_snapshot_without_its_footer_is_not_whole(node: Path) -> None:
    path = node / FOLDER / "00000000000000001496-0000000005.checkpoint"
    scan = read(node).snapshots[1].scan
    path.write_bytes(path.read_bytes()[: scan.batches[-1].position])
    found = read(node)
    assert found.damages == ()
    content = found.snapshots[1].content
    assert (content.has_header, content.has_footer) == (True, False)
    assert not found.snapshots[1].is_usable


def test_the_torn_end_of_a_part_file_is_no_damage(node: Path) -> None:
    whole = node / FOLDER / "00000000000000001496-0000000005.checkpoint"
    part = node / FOLDER / "00000000000000001496-0000000005-77.checkpoint.part"
    part.write_bytes(whole.read_bytes()[:-20])
    found = read(node)
    assert found.damages == ()
    assert [s.state.value for s in found.snapshots if not s.is_usable] == ["part"]


def test_snapshots_of_the_draft_folder_are_read(node: Path) -> None:
    draft = node / FOLDER / "checkpoints"
    draft.mkdir()
    whole = node / FOLDER / "00000000000000001496-0000000005.checkpoint"
    whole.rename(draft / "00000000000000001496-00000000000000000005.checkpoint")
    found = read(node)
    assert found.damages == ()
    (path,) = [s.file.path for s in found.snapshots if s.id and s.id.offset == 1496 and s.is_usable]
    assert path == f"{FOLDER}/checkpoints/00000000000000001496-00000000000000000005.checkpoint"


def test_an_empty_newest_segment_and_empty_indexes_are_legal(node: Path) -> None:
    for suffix in ("log", "index", "timeindex"):
        (node / FOLDER / f"00000000000000001548.{suffix}").write_bytes(b"")
    found = read(node)
    assert found.damages == ()
    assert found.log_end_offset == 1548


def test_a_hole_between_segments_is_a_gap_even_behind_an_empty_one(node: Path) -> None:
    (node / FOLDER / "00000000000000000000.log").write_bytes(b"")
    found = read(node)
    (damage,) = found.damages
    assert damage.kind is DamageKind.OFFSET_GAP
    assert damage.file.endswith("00000000000000001262.log")
    assert damage.detail == "segment starts at 1262, the one before has end offset 0"


def test_segments_that_overlap_are_no_gap(node: Path) -> None:
    (node / FOLDER / "00000000000000001500.log").write_bytes(b"")
    found = read(node)
    assert damages(found) == [("00000000000000001500.log", DamageKind.OFFSET_MISMATCH)]


def test_the_log_ends_with_its_last_segment_also_behind_a_hole(node: Path) -> None:
    (node / FOLDER / "00000000000000002000.log").write_bytes(b"")
    found = read(node)
    assert damages(found) == [("00000000000000002000.log", DamageKind.OFFSET_GAP)]
    assert found.log_end_offset == 2000


def test_a_flipped_bit_in_a_segment_is_named_with_its_byte(node: Path) -> None:
    path = node / FOLDER / "00000000000000001262.log"
    data = bytearray(path.read_bytes())
    data[5000] ^= 4
    path.write_bytes(data)
    (damage,) = read(node).damages
    assert damage.file == f"{FOLDER}/00000000000000001262.log"
    assert damage.position <= 5000 < damage.position + damage.length
    assert damage.kind is DamageKind.CRC_MISMATCH


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("quorum-state", b"{"),
        ("leader-epoch-checkpoint", b"0\nx\n"),
        ("partition.metadata", b"version: 7\ntopic_id: x\n"),
        ("00000000000000000000.index", b"abc"),
        ("00000000000000001262.snapshot", b"abc"),
    ],
)
def test_a_file_that_does_not_decode_is_named(node: Path, name: str, content: bytes) -> None:
    (node / FOLDER / name).write_bytes(content)
    found = read(node)
    assert damages(found) == [(name, DamageKind.CONTENT)]
    assert found.log_end_offset == 1548


def test_a_node_without_meta_properties_has_no_replica(node: Path) -> None:
    (node / "meta.properties").unlink()
    found = read(node)
    assert (found.replica, found.damages) == (None, ())
    assert found.log_end_offset == 1548


def test_meta_properties_of_version_0_name_a_replica_without_directory(node: Path) -> None:
    (node / "meta.properties").write_bytes(b"broker.id=9\nversion=0\ncluster.id=abc\n")
    assert read(node).replica == ReplicaId("abc", 9, ZERO_UUID)


def test_files_that_cannot_be_read_are_named_and_no_descriptor_stays_open(node: Path) -> None:
    folder = node / FOLDER
    (folder / "00000000000000009000.log").mkdir()
    (folder / "00000000000000000009.index").symlink_to("nowhere")
    (folder / "quorum-state").unlink()
    os.mkfifo(folder / "quorum-state")
    open_before = len(os.listdir("/dev/fd"))
    found = read(node)
    assert len(os.listdir("/dev/fd")) == open_before
    assert sorted(damages(found)) == [
        ("00000000000000000009.index", DamageKind.UNREADABLE),
        ("00000000000000009000.log", DamageKind.UNREADABLE),
        ("quorum-state", DamageKind.UNREADABLE),
    ]
    details = {damage.detail for damage in found.damages}
    assert details == {"a symbolic link to nothing", "not a regular file"}
    assert found.log_end_offset == 1548


def test_a_file_over_its_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"abc")
    assert read_file(str(path), 3) == b"abc"
    with pytest.raises(UnreadableFileError, match="3 bytes, the limit is 2"):
        read_file(str(path), 2)


def test_a_segment_renamed_while_it_is_read_is_found_under_its_new_name(node: Path) -> None:
    old = node / FOLDER / "00000000000000000000.log"

    def renaming(path: str, limit: int) -> bytes:
        if path == str(old) and old.exists():
            old.rename(f"{old}.deleted")
        return read_file(path, limit)

    found = read_directory(str(node / FOLDER), read=renaming)
    assert found.damages == ()
    assert [segment.base_offset for segment in found.deleted_segments] == [0]
    assert found.first_offset == 1262


def test_a_file_that_is_listed_but_always_gone_has_changed(node: Path) -> None:
    def losing(path: str, limit: int) -> bytes:
        if path.endswith("quorum-state"):
            raise VanishedFileError(path, "file is gone")
        return read_file(path, limit)

    found = read_directory(str(node / FOLDER), read=losing)
    assert damages(found) == [("quorum-state", DamageKind.CHANGED)]
    assert found.quorum_state is None


def test_a_segment_that_grows_between_listing_and_reading_is_taken_as_read(node: Path) -> None:
    last = struct.pack(">q", 1548)

    def torn(path: str, limit: int) -> bytes:
        data = read_file(path, limit)
        return data + last if path.endswith("1262.log") else data

    found = read_directory(str(node / FOLDER), read=torn)
    assert damages(found) == [("00000000000000001262.log", DamageKind.TORN_TAIL)]
    assert found.log_end_offset == 1548


def test_a_path_that_is_no_directory_is_a_usage_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none", DATA / "kafka-dump-log.jsonl.gz"):
        with pytest.raises(UsageError, match="not a directory"):
            read_directory(str(path))


def test_files_of_other_kinds_are_left_alone(node: Path) -> None:
    (node / FOLDER / ".lock").write_bytes(b"")
    (node / FOLDER / "notes.txt").write_bytes(b"\x00")
    (node / FOLDER / os.fsdecode(b"\xff.log")).write_bytes(b"x")
    before = read_directory(str(DATA / DYNAMIC_2 / FOLDER))
    found = read(node)
    assert found.damages == ()
    assert len(found.files) == len(before.files)


def test_an_empty_directory_is_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    found = read(tmp_path)
    assert (found.first_offset, found.log_start_offset, found.log_end_offset) == (None, 0, 0)
    assert (found.files, found.damages) == ((), ())
