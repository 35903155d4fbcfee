"""Taking captures: of directories that stand still, that move, and after an interruption."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.capture import taking
from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import Captures, capture_paths
from pipelines.capture.destination import _Folder
from pipelines.capture.spool import Spool
from pipelines.capture.taking import CapturedDirectory, directories, take
from replica.errors import UnwritableFileError, UsageError
from replica.format.damage import DamageKind
from replica.format.file_names import METADATA_FOLDER

LIVE = "kafka-3.7.2-static/live"
LOG = f"{0:020d}.log"


def capture(source: Path, destination: Path | str) -> tuple[CapturedDirectory, ...]:
    return take(directories([str(source)]), str(destination))


def looks_at(*paths: Path | str) -> Captures:
    with Spool(Path(f"{paths[0]}-spool")) as spool:
        return capture_paths([str(path) for path in paths], CaptureOptions(), spool)


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def nodes(data: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(data / LIVE, tmp_path / "nodes"))


def test_a_capture_holds_every_file_of_every_node_and_is_the_same_captures(
    nodes: Path, tmp_path: Path
) -> None:
    taken = capture(nodes, tmp_path / "capture")
    assert [one.folder for one in taken] == ["node-1", "node-2", "node-3", "node-11"]
    assert not any(one.damages or one.has_moved for one in taken)
    copied = files_below(tmp_path / "capture")
    manifest = json.loads(copied.pop("capture.json"))
    assert {file["path"] for file in manifest["files"]} == set(copied)
    assert copied == {f"node-{path}": content for path, content in files_below(nodes).items()}
    ((group,),), ((other,),) = looks_at(nodes).rounds, looks_at(tmp_path / "capture").rounds
    assert group.group_id == other.group_id
    assert all(capture.captured_at is not None for capture in other.captures)


def test_a_capture_to_a_uri_has_the_same_files_as_one_to_a_path(
    nodes: Path, tmp_path: Path
) -> None:
    capture(nodes, (tmp_path / "by-uri").as_uri())
    capture(nodes, tmp_path / "by-path")
    by_uri, by_path = files_below(tmp_path / "by-uri"), files_below(tmp_path / "by-path")
    assert by_uri.pop("capture.json") != b""
    assert by_path.pop("capture.json") != b""
    assert by_uri == by_path


def test_a_log_in_a_folder_that_only_its_user_knows_is_found_in_its_capture(
    nodes: Path, tmp_path: Path
) -> None:
    (tmp_path / "mail").mkdir()
    (nodes / "1" / METADATA_FOLDER / LOG).rename(tmp_path / "mail" / LOG)
    capture(tmp_path / "mail", tmp_path / "capture")
    (one,) = directories([str(tmp_path / "capture")])
    assert (Path(one.path).name, Path(one.path, LOG).is_file()) == (METADATA_FOLDER, True)


def test_two_nodes_with_one_id_get_a_folder_each(nodes: Path, tmp_path: Path) -> None:
    shutil.copytree(nodes / "1", nodes / "1 again")
    taken = capture(nodes, tmp_path / "capture")
    folders = {Path(one.shown).parent.name: one.folder for one in taken}
    assert {folders["1"], folders["1 again"]} == {"node-1", "node-1-2"}


def test_a_fragment_is_not_captured_as_if_it_were_a_whole_log(nodes: Path, tmp_path: Path) -> None:
    told = '{"version": 1, "captured_at": "2026-11-21T05:00:00Z", "is_fragment": true}'
    (nodes / "1" / "capture.json").write_text(told)
    with pytest.raises(UsageError, match="a fragment of a log"):
        capture(nodes / "1", tmp_path / "capture")


def interrupt(monkeypatch: pytest.MonkeyPatch, source: Path, destination: Path, at: int) -> None:
    """A capture that dies while it writes file number `at`, half of it written."""
    write = _Folder.write
    left = [at]

    def dying(self: Any, path: str, blocks: Iterable[bytes]) -> None:
        data = b"".join(blocks)
        left[0] -= not path.startswith("capture.json")
        if left[0] == 0:
            write(self, path, [data[: len(data) // 2]])
            raise KeyboardInterrupt
        write(self, path, [data])

    monkeypatch.setattr(taking, "_JOURNAL_EVERY_BYTES", 1)
    with monkeypatch.context() as patch:
        patch.setattr(_Folder, "write", dying)
        with pytest.raises(KeyboardInterrupt):
            capture(source, destination)


@pytest.mark.parametrize("files", [1, 5, 11])
def test_an_interrupted_capture_goes_on_and_ends_as_an_undisturbed_one(
    nodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    interrupt(monkeypatch, nodes, tmp_path / "capture", files)
    left = looks_at(tmp_path / "capture")
    assert left.rounds == ()
    assert "interrupted capture" in left.damages[0].detail
    taken = capture(nodes, tmp_path / "capture")
    capture(nodes, tmp_path / "other")
    assert sum(one.size_bytes - one.sent_bytes for one in taken) > 0 or files == 1
    done, other = files_below(tmp_path / "capture"), files_below(tmp_path / "other")
    assert done.keys() == other.keys()
    assert all(done[path] == other[path] for path in done if path != "capture.json")
    ((group,),), ((same,),) = looks_at(nodes).rounds, looks_at(tmp_path / "capture").rounds
    assert group.group_id == same.group_id


def test_a_resumed_capture_sends_changed_files_again_and_drops_deleted_ones(
    nodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, nodes, tmp_path / "capture", 30)
    log = nodes / "1" / METADATA_FOLDER / LOG
    log.write_bytes(log.read_bytes()[:-10])
    (nodes / "1" / METADATA_FOLDER / "leader-epoch-checkpoint").unlink()
    capture(nodes, tmp_path / "capture")
    done = files_below(tmp_path / "capture")
    assert done.pop("capture.json")
    assert done == {f"node-{path}": content for path, content in files_below(nodes).items()}


def test_bytes_missing_from_a_copy_are_damage_and_no_truncation(
    nodes: Path, tmp_path: Path
) -> None:
    capture(nodes, tmp_path / "capture")
    folder = tmp_path / "capture" / "node-2" / METADATA_FOLDER
    log = folder / LOG
    log.write_bytes(log.read_bytes()[:-1000])
    (folder / "quorum-state").unlink()
    state = tmp_path / "capture" / "node-3" / METADATA_FOLDER / "quorum-state"
    state.write_bytes(state.read_bytes().replace(b"1", b"2"))
    ((group,),) = looks_at(tmp_path / "capture").rounds
    lost = {
        (capture.replica.node_id, damage.file.rpartition("/")[2], damage.kind): damage.detail
        for capture in group.captures
        for damage in capture.directory.damages
        if "captured" in damage.detail
    }
    assert set(lost) == {
        (2, LOG, DamageKind.UNREADABLE),
        (2, "quorum-state", DamageKind.UNREADABLE),
        (3, "quorum-state", DamageKind.UNREADABLE),
    }
    assert "by their hash" in lost[3, "quorum-state", DamageKind.UNREADABLE]


def test_a_place_that_holds_something_is_refused_and_left_as_it_is(
    nodes: Path, tmp_path: Path
) -> None:
    capture(nodes, tmp_path / "capture")
    before = files_below(tmp_path / "capture")
    with pytest.raises(UsageError, match="holds a finished capture"):
        capture(nodes, tmp_path / "capture")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        capture(nodes, tmp_path / "taken")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "capture.json.part").write_text("{")
    with pytest.raises(UsageError, match="name another folder"):
        capture(nodes, tmp_path / "odd")
    assert files_below(tmp_path / "capture") == before
    assert files_below(tmp_path / "taken") == {"notes.txt": b"mine"}


def test_a_place_that_takes_no_bytes_is_an_error_of_writing(nodes: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UnwritableFileError, match="file: not a folder"):
        capture(nodes, tmp_path / "file" / "below")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_takes_no_more_is_named_and_the_capture_goes_on_later(
    nodes: Path, tmp_path: Path
) -> None:
    capture(nodes / "1", tmp_path / "other")
    with files_of_at_most(40_000), pytest.raises(UnwritableFileError, match="log: File too large"):
        capture(nodes / "1", tmp_path / "capture")
    capture(nodes / "1", tmp_path / "capture")
    done, other = files_below(tmp_path / "capture"), files_below(tmp_path / "other")
    assert done.pop("capture.json")
    assert other.pop("capture.json")
    assert done == other


@pytest.mark.parametrize("path", ["s3://bucket/x", "missing", "file.txt"])
def test_only_local_directories_are_captured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("no directory")
    with pytest.raises(UsageError):
        directories([path])


@pytest.mark.parametrize(
    "name",
    [
        f"{METADATA_FOLDER}/{LOG}",
        f"{METADATA_FOLDER}/leader-epoch-checkpoint",
        f"{METADATA_FOLDER}/quorum-state",
        "meta.properties",
        "bootstrap.checkpoint",
    ],
)
def test_a_file_elsewhere_that_a_link_in_the_directory_names_is_not_captured(
    nodes: Path, tmp_path: Path, name: str
) -> None:
    node, secret = nodes / "1", nodes / "1" / "kafka.keystore.pem"
    secret.write_bytes(b"a key of another kind")
    (node / name).unlink(missing_ok=True)
    (node / name).symlink_to(secret)
    (taken,) = capture(node, tmp_path / "capture")
    assert b"a key of another kind" not in files_below(tmp_path / "capture").values()
    told = [damage.detail for damage in taken.damages if damage.file.endswith(f"/{name}")]
    assert told == ["a symbolic link to no known file of this directory: it is not followed"]


def test_a_link_to_a_file_of_the_same_directory_is_captured_as_that_file(
    nodes: Path, tmp_path: Path
) -> None:
    folder = nodes / "1" / METADATA_FOLDER
    (folder / f"{LOG}.deleted").symlink_to(LOG)
    (taken,) = capture(nodes / "1", tmp_path / "capture")
    copied = files_below(tmp_path / "capture")
    (name,) = (name for name in copied if name.endswith(".deleted"))
    assert copied[name] == (folder / LOG).read_bytes()
    assert not taken.damages


def test_a_directory_without_a_node_id_gets_a_safe_name_like_that_of_its_folder(
    nodes: Path, tmp_path: Path
) -> None:
    names = ("-rf", "..hidden", "a\x1b[31m\n\\b", "odd \udcff", "NUL", "ä" * 120)
    for name in names:
        folder = shutil.copytree(nodes / "1", nodes / "odd" / name)
        (folder / "meta.properties").unlink()
        (folder / METADATA_FOLDER / "quorum-state").unlink()
    taken = take(directories([str(nodes / "odd")]), str(tmp_path / "capture"))
    assert sorted(one.folder for one in taken) == sorted(
        ["rf", "hidden", "a__31m__b", "odd _", "NUL_", "ä" * 50]
    )
    assert len(looks_at(tmp_path / "capture").damages) == len(looks_at(nodes / "odd").damages)
