"""The folders of a log directory, named and told apart as Kafka does."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.format.partition_folders import (
    FolderState,
    log_directories_below,
    partition_of_folder,
)
from replica.format.partition_metadata import encode
from replica.model.keys import ReplicaId

CLUSTER, DIRECTORY, TOPIC = "Lr3UIdBxT-GFPYE5uprmrg", "A" * 21 + "Q", "B" * 21 + "A"
HASH = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", ("orders", 0, FolderState.CURRENT)),
        ("a-b-12", ("a-b", 12, FolderState.CURRENT)),
        (f"orders-0.{HASH}-delete", ("orders", 0, FolderState.DELETED)),
        (f"a.b-1.{HASH}-future", ("a.b", 1, FolderState.FUTURE)),
        (f"orders-3.{HASH}-stray", ("orders", 3, FolderState.STRAY)),
        ("orders--1", ("orders-", 1, FolderState.CURRENT)),
        ("lost+found", None),
        ("orders", None),
        ("-1", None),
        ("orders-", None),
        ("orders-x", None),
        ("orders-2147483648", None),
        ("orders-delete", None),
        ("orders-0-stray", None),
        ("a b-0.x-future", None),
    ],
)
def test_a_folder_s_name_is_read_as_kafka_reads_it(
    name: str, expected: tuple[str, int, FolderState] | None
) -> None:
    assert partition_of_folder(name) == expected


def _log_directory(folder: Path, *, node_id: int = 1) -> Path:
    folder.mkdir(parents=True)
    (folder / "meta.properties").write_text(
        f"version=1\nnode.id={node_id}\ncluster.id={CLUSTER}\ndirectory.id={DIRECTORY}\n"
    )
    return folder


def _partition(folder: Path, size: int, topic_id: str | None = TOPIC) -> None:
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(bytes(size))
    for other in ("index", "timeindex", "snapshot", "log.deleted"):
        (folder / f"{0:020d}.{other}").write_bytes(bytes(1000))
    if topic_id is not None:
        (folder / "partition.metadata").write_bytes(encode(topic_id))


def test_a_log_directory_has_its_partitions_and_what_is_none(tmp_path: Path) -> None:
    folder = _log_directory(tmp_path / "disks" / "a")
    _partition(folder / "orders-0", 100)
    _partition(folder / "orders-1", 7, topic_id=None)
    _partition(folder / f"old-0.{HASH}-stray", 5)
    for passed_over in ("__cluster_metadata-0", "remote-log-index-cache"):
        (folder / passed_over).mkdir()
    (folder / "lost+found").mkdir()
    (folder / "file-0").write_bytes(b"")
    (one,) = log_directories_below(str(tmp_path))
    assert one.replica == ReplicaId(CLUSTER, 1, DIRECTORY)
    assert one.foreign == (str(folder / "lost+found"),)
    sized = {Path(each.path).name: each.size_bytes for each in one.folders}
    assert sized == {f"old-0.{HASH}-stray": 5, "orders-0": 100, "orders-1": 7}
    assert [each.topic_id for each in one.folders] == [TOPIC, TOPIC, None]


def test_log_directories_are_found_at_and_below_a_path_and_not_within_another(
    tmp_path: Path,
) -> None:
    outer = _log_directory(tmp_path / "n1" / "a")
    _log_directory(outer / "inner")
    _log_directory(tmp_path / "n2" / "deep" / "b", node_id=2)
    broken = tmp_path / "n3"
    broken.mkdir()
    (broken / "meta.properties").write_text("nothing")
    found = [one.shown for one in log_directories_below(str(tmp_path))]
    assert found == [str(outer), str(tmp_path / "n2" / "deep" / "b")]
    assert [one.shown for one in log_directories_below(str(outer))] == [str(outer)]
