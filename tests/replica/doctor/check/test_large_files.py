"""Large files, of which a window is in memory: judged as small ones are, also where they change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.group import judge_group
from replica.doctor.check.replaying import replay_log, snapshot_image
from replica.doctor.check.rule import Finding
from replica.format.batch import HEADER, BatchHeader
from replica.format.byte_source import OpenFile
from replica.format.content import batch_bytes
from replica.format.discovery import discover
from replica.format.reading import open_own_file
from replica.scan import log_bytes, segments
from tests.replica.doctor.check.editing import places, segment

DATA = Path(__file__).parents[3] / "data"
NODES = ("kafka-4.1.1-dynamic/final/2", "kafka-3.7.2-static/split/2", "kafka-4.4.0-dynamic/final/1")


def _from_files(node: Path) -> Examined:
    """Every file stays where it is, however small."""
    (found,) = discover([str(node)])
    return examine(found, open_own_file)


def _findings(examined: Examined) -> tuple[Finding, ...]:
    (member,) = judge_group([examined]).members
    return member.findings


@pytest.fixture(params=[True, False], ids=["by the kernels", "by the scalar reader"])
def _readers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MIN_BYTES", 1 if request.param else 1 << 40)


@pytest.mark.usefixtures("_readers")
@pytest.mark.parametrize("name", NODES)
def test_files_that_are_not_in_memory_are_judged_as_those_that_are(name: str) -> None:
    (found,) = discover([str(DATA / name)])
    in_memory, kept = examine(found), _from_files(DATA / name)
    assert isinstance(kept.content_of(kept.directory.segments[0]).source(), OpenFile)
    assert kept.directory == in_memory.directory
    assert _findings(kept) == _findings(in_memory)
    ends = {one.id for one in kept.directory.snapshots if one.id is not None}
    assert replay_log(kept, ends) == replay_log(in_memory, ends)
    for one in kept.directory.snapshots:
        assert snapshot_image(kept, one) == snapshot_image(in_memory, one)


@pytest.mark.parametrize("span", [1, 100, 4096])
def test_lists_are_read_alike_however_much_is_read_at_once(
    span: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MIN_BYTES", 1)
    node = DATA / NODES[0]
    whole = _from_files(node)
    ends = {one.id for one in whole.directory.snapshots if one.id is not None}
    expected = replay_log(whole, ends)
    assert expected.images
    for name in ("_SPAN_BYTES", "_GAP_BYTES", "_BEHIND_BYTES"):
        monkeypatch.setattr(log_bytes, name, span)
    assert replay_log(whole, ends) == expected


@pytest.mark.usefixtures("_readers")
@pytest.mark.parametrize("change", ["cut", "overwritten", "zeros"])
def test_a_file_that_changes_behind_its_scan_is_told(change: str, tmp_path: Path) -> None:
    node = Path(shutil.copytree(DATA / NODES[1], tmp_path / "node"))
    examined = _from_files(node)
    path = segment(node, 0)
    size = path.stat().st_size
    with path.open("r+b") as file:
        if change == "cut":
            file.truncate(size // 2)
        else:
            file.seek(size // 2)
            file.write((b"\xa5" if change == "overwritten" else b"\0") * (size - size // 2))
    assert ("changed-while-read", path.name, None) in places(_findings(examined), info=True)
    assert examined.changed


def test_a_file_that_is_not_open_and_goes_is_told(tmp_path: Path) -> None:
    node = Path(shutil.copytree(DATA / NODES[1], tmp_path / "node"))

    def read(path: str, limit: int) -> OpenFile:
        file = open_own_file(path, limit)
        file.close_between_reads()
        return file

    (found,) = discover([str(node)])
    examined = examine(found, read)
    path = segment(node, 0)
    shutil.copy(path, path.with_suffix(".other"))
    os.replace(path.with_suffix(".other"), path)  # the same bytes in another file
    assert ("changed-while-read", path.name, None) in places(_findings(examined), info=True)


def test_of_a_batch_too_large_to_be_read_only_the_header_is() -> None:
    sizes: list[int] = []

    class Asked:
        size = 1 << 31

        def read(self, position: int, size: int) -> bytes:
            sizes.append(size)
            return bytes(size)

    large = BatchHeader(0, 1 << 30, 1, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)
    assert len(batch_bytes(Asked(), 0, large)) == HEADER.size
    assert sizes == [HEADER.size]
