"""Which replicas one call captures, when, and together with whom."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines.capture.capture import Capture, CaptureOptions
from pipelines.capture.captures import Captures, capture_paths, next_free
from pipelines.capture.grouping import parse_replica
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from replica.errors import UsageError
from replica.format.damage import DamageKind
from replica.format.file_names import METADATA_FOLDER
from replica.model.keys import ZERO_UUID, ReplicaId

STATIC, DYNAMIC = "kafka-3.7.2-static", "kafka-4.1.1-dynamic"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LOG = f"{0:020d}.log"


def captured_at(folder: Path, text: str) -> None:
    content = {"version": 1, "captured_at": text}
    (folder / "capture.json").write_text(json.dumps(content), encoding="utf-8")


def copied(data: Path, to: Path, *names: str) -> Path:
    for name in names:
        shutil.copytree(data / name, to / name)
    return to


def all_captures(captures: Captures) -> list[Capture]:
    return [capture for groups in captures.rounds for group in groups for capture in group.captures]


def nodes(captures: Captures) -> list[list[tuple[str, list[int]]]]:
    return [
        [
            (group.cluster_id[:2], [capture.replica.node_id for capture in group.captures])
            for group in groups
        ]
        for groups in captures.rounds
    ]


def damages(captures: Captures) -> list[tuple[DamageKind, str]]:
    return [(damage.kind, damage.file) for damage in captures.damages]


def tree(root: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(root)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in root.rglob("*")
    }


def test_the_replicas_of_a_cluster_make_a_group_whatever_kafka_wrote_them(
    data: Path, spool: Spool
) -> None:
    captures = capture_paths(
        [str(data / STATIC / "live"), str(data / DYNAMIC / "live")], CaptureOptions(), spool
    )
    assert nodes(captures) == [[("Lr", [1, 2, 3, 11]), ("gT", [1, 2, 3, 11])]]
    assert captures.damages == ()
    groups = captures.rounds[0]
    assert groups[0].group_id != groups[1].group_id
    assert {capture.captured_at for capture in all_captures(captures)} == {None}


def test_copies_are_the_bytes_that_were_read_and_go_with_the_spool(
    data: Path, tmp_path: Path
) -> None:
    before = tree(data / STATIC / "live")
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        (capture,) = all_captures(
            capture_paths([str(data / STATIC / "live" / "3")], CaptureOptions(), spool)
        )
        for file in capture.directory.files:
            original = (data / STATIC / "live" / "3" / file.path).read_bytes()
            assert Path(capture.copy_of(file)).read_bytes() == original
            assert capture.shown_file(file) == str(data / STATIC / "live" / "3" / file.path)
        assert len(capture.directory.files) > 8
    assert list((tmp_path / "lake").iterdir()) == []
    assert tree(data / STATIC / "live") == before


def test_the_spool_goes_after_an_exception_too(data: Path, tmp_path: Path) -> None:
    options = CaptureOptions(order=("live", "split"))
    with pytest.raises(UsageError), Spool.below(Lake(tmp_path)) as spool:
        capture_paths([str(data / STATIC)], options, spool)  # reads some, then meets final
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["", "1"])
def test_capture_json_in_the_nodes_folder_or_above_wins_over_the_option(
    place: str, data: Path, tmp_path: Path, spool: Spool
) -> None:
    copied(data / STATIC / "live", tmp_path, "1")
    captured_at(tmp_path / place, "2026-11-20T00:00:00.125Z")
    captures = capture_paths([str(tmp_path)], CaptureOptions(captured_at=NOON), spool)
    expected = datetime(2026, 11, 20, 0, 0, 0, 125_000, tzinfo=UTC)
    assert [capture.captured_at for capture in all_captures(captures)] == [expected]


def test_a_broken_capture_json_is_one_damage_and_the_option_counts(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    copied(data / STATIC / "live", tmp_path, "1", "2")
    (tmp_path / "capture.json").write_bytes(b'{"version": 1')
    captures = capture_paths([str(tmp_path)], CaptureOptions(captured_at=NOON), spool)
    assert damages(captures) == [(DamageKind.CONTENT, str(tmp_path / "capture.json"))]
    assert {capture.captured_at for capture in all_captures(captures)} == {NOON}
    assert nodes(captures) == [[("gT", [1, 2])]]


def test_each_capture_json_makes_a_group_oldest_first(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    copied(data / STATIC, tmp_path, "live", "split", "final")
    for hour, name in enumerate(("split", "final", "live")):
        captured_at(tmp_path / name, f"2026-11-20T0{hour}:00:00Z")
    captures = capture_paths([str(tmp_path)], CaptureOptions(), spool)
    first = [groups[0].captures[0].location.shown for groups in captures.rounds]
    assert [Path(name).parts[-3] for name in first] == ["split", "final", "live"]


@pytest.mark.parametrize("broken", [None, b"{}", b'{"version":1,"captured_at":"2026-11-20"}'])
def test_captures_of_a_replica_in_no_known_order_are_refused(
    broken: bytes | None, data: Path, tmp_path: Path, spool: Spool
) -> None:
    copied(data / STATIC, tmp_path, "live", "split")
    for name in ("live", "split") if broken else ():
        (tmp_path / name / "capture.json").write_bytes(broken or b"")
    with pytest.raises(UsageError) as caught:
        capture_paths([str(tmp_path)], CaptureOptions(), spool)
    assert "--order OLDEST,...,NEWEST" in str(caught.value)
    assert "(as live and split are)" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_order_makes_a_round_of_each_name(data: Path, spool: Spool) -> None:
    options = CaptureOptions(order=("final", "live", "split"))
    captures = capture_paths([str(data / STATIC), str(data / DYNAMIC)], options, spool)
    rounds = [
        {capture.batch for group in groups for capture in group.captures}
        for groups in captures.rounds
    ]
    assert rounds == [{"final"}, {"live"}, {"split"}]
    assert [len(groups) for groups in captures.rounds] == [2, 2, 2]
    assert len(all_captures(captures)) == 28


def test_order_goes_by_the_folders_of_the_argument_too(
    data: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data / STATIC / "live")
    paths = [f"../split/1/{METADATA_FOLDER}", "."]
    captures = capture_paths(paths, CaptureOptions(order=("live", "split")), spool)
    assert nodes(captures) == [[("gT", [1, 2, 3, 11])], [("gT", [1])]]


def test_a_directory_outside_the_order_is_refused(data: Path, spool: Spool) -> None:
    with pytest.raises(UsageError, match=r"--order live,split: .*final.* lies in none of these"):
        capture_paths([str(data / STATIC)], CaptureOptions(order=("live", "split")), spool)


@pytest.mark.parametrize("second", ["same", "above", "link", "copy"])
def test_the_same_directory_or_content_twice_is_one_look(
    second: str, data: Path, tmp_path: Path, spool: Spool
) -> None:
    copied(data / STATIC / "live", tmp_path / "a", "1")
    paths = {"same": "a/1", "above": "a", "link": "link", "copy": "b"}
    (tmp_path / "link").symlink_to(tmp_path / "a" / "1")
    copied(tmp_path / "a", tmp_path / "b", "1")
    captures = capture_paths(
        [str(tmp_path / "a" / "1"), str(tmp_path / paths[second])], CaptureOptions(), spool
    )
    assert nodes(captures) == [[("gT", [1])]]


def test_a_directory_that_changes_is_read_once_however_often_it_is_named(
    data: Path, tmp_path: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(data / STATIC / "live", tmp_path, "1")
    from pipelines.capture import capture as module

    real = module.read_directory

    def read_and_change(path: str, **options: Any) -> Any:
        found = real(path, **options)
        (Path(path) / "quorum-state").write_bytes(b"changed")
        return found

    monkeypatch.setattr(module, "read_directory", read_and_change)
    assert (
        len(
            all_captures(
                capture_paths([str(tmp_path), str(tmp_path / "1")], CaptureOptions(), spool)
            )
        )
        == 1
    )


def test_equal_content_under_two_capture_jsons_is_one_group(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    for name, day in (("a", 1), ("b", 2)):
        copied(data / STATIC / "live", tmp_path / name, "1")
        captured_at(tmp_path / name, f"2026-11-0{day}")
    (capture,) = all_captures(capture_paths([str(tmp_path)], CaptureOptions(), spool))
    assert capture.captured_at == datetime(2026, 11, 1, tzinfo=UTC)


def test_a_capture_id_is_that_of_the_content_wherever_it_lies(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    copied(data / STATIC / "live", tmp_path, "1")
    flat = tmp_path / "flat.tar"
    with tarfile.open(flat, "w") as tar:
        tar.add(tmp_path / "1" / METADATA_FOLDER, ".")
        tar.add(tmp_path / "1" / "meta.properties", "meta.properties")
    other = copied(tmp_path, tmp_path / "other", "1")
    (other / "1" / METADATA_FOLDER).rename(other / "1" / "renamed")
    (original,) = all_captures(capture_paths([str(tmp_path / "1")], CaptureOptions(), spool))
    (renamed,) = all_captures(capture_paths([str(other)], CaptureOptions(), spool))
    (first,) = all_captures(capture_paths([str(flat)], CaptureOptions(), spool))
    (again,) = all_captures(capture_paths([str(flat)], CaptureOptions(), spool))
    assert renamed.capture_id == original.capture_id
    assert first.capture_id == again.capture_id, "whatever folder the bundle was unpacked to"
    log = other / "1" / "renamed" / LOG
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    (changed,) = all_captures(capture_paths([str(other)], CaptureOptions(), spool))
    assert changed.capture_id != original.capture_id


def test_a_directory_of_an_unknown_replica_is_left_out_and_named(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    copied(data / STATIC / "live", tmp_path, "1", "2")
    (tmp_path / "2" / "meta.properties").write_bytes(b"\xff")
    captures = capture_paths([str(tmp_path)], CaptureOptions(), spool)
    assert nodes(captures) == [[("gT", [1])]]
    assert damages(captures) == [(DamageKind.UNIDENTIFIED, str(tmp_path / "2" / METADATA_FOLDER))]
    assert "--as" in captures.damages[0].detail


def test_as_names_the_replica_only_of_directories_without_meta_properties(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    copied(data / STATIC / "live", tmp_path, "1", "2")
    (tmp_path / "2" / "meta.properties").unlink()
    captures = capture_paths([str(tmp_path)], CaptureOptions(replica=ReplicaId("x", 7)), spool)
    assert nodes(captures) == [[("gT", [1]), ("x", [7])]]


def test_single_files_of_a_folder_are_one_directory_of_as(data: Path, spool: Spool) -> None:
    folder = data / DYNAMIC / "final" / "1" / METADATA_FOLDER
    paths = [str(path) for path in sorted(folder.glob("*.log"))]
    assert len(paths) > 1
    captures = capture_paths([*paths, paths[0]], CaptureOptions(replica=ReplicaId("x", 7)), spool)
    (capture,) = all_captures(captures)
    assert capture.replica == ReplicaId("x", 7)
    assert [capture.shown_file(segment.file) for segment in capture.directory.segments] == paths
    assert (
        Path(capture.copy_of(capture.directory.files[0])).read_bytes()
        == Path(paths[0]).read_bytes()
    )


def test_a_single_file_without_as_is_refused(data: Path, spool: Spool) -> None:
    path = next((data / STATIC).rglob("*.log"))
    with pytest.raises(UsageError, match=f"{path}: .*--as CLUSTER:NODE"):
        capture_paths([str(path)], CaptureOptions(), spool)


def test_files_that_are_not_kafkas_are_named_beside_the_rest(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    for name in ("notes.txt", "server.log", "broken.tar.gz"):
        (tmp_path / name).write_bytes(b"no log")
    empty = tmp_path / "empty.tar"
    tarfile.open(empty, "w").close()
    names = [str(path) for path in sorted(tmp_path.iterdir())]
    captures = capture_paths([*names, str(data / STATIC / "live")], CaptureOptions(), spool)
    assert nodes(captures) == [[("gT", [1, 2, 3, 11])]]
    assert sorted((Path(file).name, kind) for kind, file in damages(captures)) == [
        ("broken.tar.gz", DamageKind.CONTENT),
        ("empty.tar", DamageKind.NOT_KAFKA),
        ("notes.txt", DamageKind.NOT_KAFKA),
        ("server.log", DamageKind.NOT_KAFKA),
    ]
    alone = capture_paths(names, CaptureOptions(), spool)
    assert alone.rounds == ()
    assert damages(alone) == damages(captures)


def test_a_lake_below_the_examined_path_is_not_examined(data: Path, tmp_path: Path) -> None:
    copied(data / STATIC / "live", tmp_path, "1")
    for lake in (tmp_path / "lake", tmp_path):
        left = copied(data / STATIC / "split", lake / "_spool" / "of-another", "1")
        os.utime(left)
        with Spool.below(Lake(lake)) as spool:
            copied(data / STATIC / "final", spool.new_folder(), "1")
            captures = capture_paths([str(tmp_path)], CaptureOptions(), spool)
            assert [Path(capture.location.shown) for capture in all_captures(captures)] == [
                tmp_path / "1" / METADATA_FOLDER
            ]
        shutil.rmtree(lake / "_spool")


def test_a_folder_that_cannot_be_listed_costs_only_itself(
    data: Path, tmp_path: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(data / STATIC / "live", tmp_path, "1", "2", "3")
    scandir, listdir = os.scandir, os.listdir

    def refuse(path: Any, name: str, real: Any) -> Any:
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", lambda path: refuse(path, "/1", scandir))
    monkeypatch.setattr(os, "listdir", lambda path: refuse(path, f"2/{METADATA_FOLDER}", listdir))
    captures = capture_paths([str(tmp_path)], CaptureOptions(), spool)
    assert nodes(captures) == [[("gT", [3])]]
    assert damages(captures) == [
        (DamageKind.UNREADABLE, str(tmp_path / "1")),
        (DamageKind.UNREADABLE, str(tmp_path / "2" / METADATA_FOLDER)),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("c:1", ReplicaId("c", 1, ZERO_UUID)), ("c:12:dir", ReplicaId("c", 12, "dir"))],
)
def test_as_is_cluster_node_and_directory(text: str, expected: ReplicaId) -> None:
    assert parse_replica(text) == expected


@pytest.mark.parametrize(
    "text", ["", "c", "c:", ":1", "c:x", "c:-1", "c:1:d:e", "c:²", "c:٢", "c:1:", "c:99999999999"]
)
def test_another_form_of_as_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"^--as {text}: expected CLUSTER:NODE"):
        parse_replica(text)


def test_a_taken_moment_gives_way_to_the_next_free_one() -> None:
    tick = timedelta(microseconds=1)
    assert next_free(NOON, set()) == NOON
    assert next_free(NOON, {NOON, NOON + tick, NOON + 3 * tick}) == NOON + 2 * tick
