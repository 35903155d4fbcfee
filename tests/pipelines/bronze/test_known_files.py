"""A capture that leaves known bytes out tells what a capture of all bytes tells."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.bronze.captured import uncovered
from pipelines.bronze.findings import JudgedCapture, judge_capture
from pipelines.bronze.small_tables import index_sanity
from pipelines.capture.capture import Capture, CaptureOptions
from pipelines.capture.captures import capture_paths
from pipelines.capture.known import Base, KnownCaptures
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from replica.format.capture import canonical
from replica.format.known_file import KnownFile
from replica.format.segment import scan
from replica.model.keys import ReplicaId
from tests.pipelines.growing import grow, large_node, last_segment

THEN = datetime(2026, 11, 21, tzinfo=UTC)
FOLDER = "__cluster_metadata-0"


class Known(KnownCaptures):
    """What one judged capture leaves behind, as the lake would tell it."""

    def __init__(self, capture: Capture, judged: JudgedCapture) -> None:
        super().__init__(None)
        files = {canonical(path): known for path, known in judged.known.items()}
        has_deleted = bool(capture.directory.deleted_segments)
        self.__dict__["base"] = Base(capture.replica, capture.capture_id, THEN, files, has_deleted)

    def of(self, replica: ReplicaId) -> Base | None:
        base: Base = self.__dict__["base"]
        return base if base.replica == replica else None


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        yield spool


def capture(node: Path, spool: Spool, known: KnownCaptures | None = None) -> Capture:
    options = CaptureOptions() if known is None else CaptureOptions(known=known)
    ((group,),) = capture_paths([str(node)], options, spool).rounds
    return group.captures[0]


def cut(source: Path, target: Path, share: float) -> Path:
    """A copy of a node whose last segment ends at a batch border, so much of it is there."""
    shutil.copytree(source, target)
    log = max((target / FOLDER).glob("*.log"))
    data = log.read_bytes()
    batches = scan(data, expected_offset=int(log.stem)).batches
    end = batches[int(len(batches) * share)]
    log.write_bytes(data[: end.position])
    offset = end.header.base_offset - int(log.stem)
    for suffix, layout, limits in (
        (".index", ">ii", (offset,)),
        (".timeindex", ">qi", (2**62, offset)),
    ):
        index = log.with_suffix(suffix)
        entries = list(struct.iter_unpack(layout, index.read_bytes()))
        kept = [e for e in entries if all(a < b for a, b in zip(e, limits, strict=False))]
        index.write_bytes(b"".join(struct.pack(layout, *e) for e in kept))
    return target


def told(capture: Capture) -> tuple[object, ...]:
    """What the tables have of a capture, but for its batches and records."""
    judged = judge_capture(capture)
    directory = capture.directory
    return (
        capture.capture_id,
        sorted(repr(row) for row in judged.rows),
        uncovered(directory),
        index_sanity(directory),
        (directory.log_start_offset, directory.log_end_offset, directory.first_offset),
        [(s.id, s.is_whole, s.content, s.file) for s in directory.snapshots],
        judged.known,
    )


@pytest.mark.parametrize("share", [0.05, 0.3, 0.62, 0.97])
@pytest.mark.parametrize(
    "name",
    [
        "kafka-3.7.2-static/final/1",
        "kafka-3.7.2-static/split/12",
        "kafka-4.1.1-dynamic/final/1",
        "kafka-4.1.1-dynamic/live/2",
    ],
)
def test_known_bytes_left_out_change_nothing_that_is_told(
    name: str, share: float, data: Path, tmp_path: Path, spool: Spool
) -> None:
    earlier = capture(cut(data / name, tmp_path / "earlier", share), spool)
    known = Known(earlier, judge_capture(earlier))
    again = capture(data / name, spool, known)
    assert any(segment.scan.sparse_until for segment in again.directory.segments)
    assert told(again) == told(capture(data / name, spool))


def test_only_new_bytes_of_a_grown_segment_are_read(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    node = large_node(data, tmp_path / "1", 3_000_000)
    earlier = capture(node, spool)
    known = Known(earlier, judge_capture(earlier))
    grow(node, 100_000)
    before = spool.bytes_read.read
    again = capture(node, spool, known)
    read = spool.bytes_read.read - before
    assert 100_000 < read < 300_000
    assert spool.bytes_read.held > 3_000_000
    copy = Path(again.copy_of(again.directory.segments[-1].file))
    assert copy.stat().st_size > 3_000_000
    assert copy.stat().st_blocks * 512 < 400_000, "the copy has holes where nothing was read"


def test_an_unchanged_directory_is_hardly_read(data: Path, tmp_path: Path, spool: Spool) -> None:
    node = large_node(data, tmp_path / "1", 3_000_000)
    earlier = capture(node, spool)
    known = Known(earlier, judge_capture(earlier))
    before = spool.bytes_read.read
    again = capture(node, spool, known)
    assert again.capture_id == earlier.capture_id
    assert spool.bytes_read.read - before < 200_000


def test_a_replaced_file_under_the_same_name_is_read_whole(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    node = cut(data / "kafka-3.7.2-static/final/1", tmp_path / "1", 0.5)
    earlier = capture(node, spool)
    known = Known(earlier, judge_capture(earlier))
    other = last_segment(data / "kafka-4.1.1-dynamic/final/1")
    last_segment(node).write_bytes(other.read_bytes())
    again = capture(node, spool, known)
    assert [segment.scan.sparse_until for segment in again.directory.segments] == [0]
    assert told(again) == told(capture(node, spool))


def test_a_truncated_and_rewritten_tail_is_read_whole(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    """Node 2 loses its ghost records: what it holds from there on are other batches."""
    node = Path(shutil.copytree(data / "kafka-3.7.2-static/split/2", tmp_path / "2"))
    earlier = capture(node, spool)
    known = Known(earlier, judge_capture(earlier))
    shutil.rmtree(node)
    shutil.copytree(data / "kafka-3.7.2-static/final/2", node)
    again = capture(node, spool, known)
    assert [segment.scan.sparse_until for segment in again.directory.segments] == [0]
    assert told(again) == told(capture(node, spool))


def test_damage_in_new_bytes_is_found_and_damaged_bytes_are_read_again(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    source = data / "kafka-3.7.2-static/final/1"
    earlier = capture(cut(source, tmp_path / "earlier", 0.5), spool)
    known = Known(earlier, judge_capture(earlier))
    node = Path(shutil.copytree(source, tmp_path / "1"))
    damaged = bytearray(last_segment(node).read_bytes())
    damaged[-200] ^= 1
    last_segment(node).write_bytes(bytes(damaged))
    again = capture(node, spool, known)
    assert again.directory.segments[-1].scan.sparse_until
    assert again.directory.damages
    assert told(again) == told(capture(node, spool))
    assert canonical(again.directory.segments[-1].file.path) not in judge_capture(again).known


def test_a_base_with_other_landmarks_is_not_believed(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    node = data / "kafka-3.7.2-static/final/1"
    earlier = capture(node, spool)
    judged = judge_capture(earlier)
    wrong: dict[str, KnownFile] = {
        path: replace(known, headers_hash="00" * 32) for path, known in judged.known.items()
    }
    again = capture(node, spool, Known(earlier, replace(judged, known=wrong)))
    assert not any(segment.scan.sparse_until for segment in again.directory.segments)


def test_a_known_segment_that_has_become_a_link_to_a_file_elsewhere_is_not_read(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    node = Path(shutil.copytree(data / "kafka-4.1.1-dynamic/final/1", tmp_path / "node"))
    earlier = capture(node, spool)
    known = Known(earlier, judge_capture(earlier))
    log = max((node / FOLDER).glob("*.log"))
    log.symlink_to(shutil.move(log, tmp_path / "elsewhere.log"))
    (damage,) = capture(node, spool, known).directory.damages
    assert damage.file == f"{FOLDER}/{log.name}"
    assert "it is not followed" in damage.detail
