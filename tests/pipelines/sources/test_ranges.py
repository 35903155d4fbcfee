"""Ranges together give what one scan of the file gives, however it is damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.sources.files import SourceFile, log_files, snapshot_files
from pipelines.sources.ranges import RangePartition, plan, read_range
from replica.errors import UnreadableFileError, UsageError
from replica.format.file_names import METADATA_FOLDER
from replica.format.segment import scan
from replica.format.walk import LocatedBatch
from tests.examples import examples

RECORDED = Path(__file__).parents[2] / "data"
LOG = f"{0:020d}.log"
SEGMENT = (RECORDED / "kafka-3.7.2-static" / "final" / "1" / METADATA_FOLDER / LOG).read_bytes()
SAMPLE = SEGMENT[: scan(SEGMENT, expected_offset=0).batches[60].position]


def whole(data: bytes) -> list[LocatedBatch]:
    return list(scan(data, expected_offset=0).batches)


def in_ranges(path: Path, data: bytes, range_bytes: int) -> tuple[list[LocatedBatch], int]:
    path.write_bytes(data)
    parts = plan([SourceFile(str(path), "shown")], range_bytes)
    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    assert parts[0].start == 0
    assert parts[-1].end == len(data)
    batches: list[LocatedBatch] = []
    for part in parts:
        read = read_range(part.path, part.start, part.end)
        found = scan(read, start=part.start, expected_offset=part.expected_offset)
        batches.extend(found.batches)
    return batches, len(parts)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranges") / LOG


@pytest.mark.parametrize("range_bytes", [1, 500, 5000])
def test_a_sound_segment_is_cut_into_ranges_of_the_size_asked_for(
    range_bytes: int, path: Path
) -> None:
    batches, count = in_ranges(path, SAMPLE, range_bytes)
    assert batches == whole(SAMPLE)
    assert count >= min(len(SAMPLE) // (range_bytes + 1000), len(batches) - 5)


def test_a_file_that_fits_is_not_opened_on_the_driver(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(SAMPLE)
    monkeypatch.setattr("pipelines.sources.ranges.read_range", None)
    assert plan([SourceFile(str(path), "x")], len(SAMPLE)) == [
        RangePartition(str(path), "x", 0, len(SAMPLE), 0)
    ]


def test_a_wrong_base_offset_at_the_end_of_a_range_is_judged_by_the_next_one(path: Path) -> None:
    for index in range(1, 40):
        batch = whole(SAMPLE)[index]
        damaged = bytearray(SAMPLE)
        struct.pack_into(">q", damaged, batch.position, batch.header.base_offset + 10**6)
        batches, count = in_ranges(path, bytes(damaged), 1)
        assert batches == whole(bytes(damaged)), index
        assert count > 20


Edit = tuple[int, bytes]
EDITS = st.lists(
    st.tuples(
        st.integers(0, len(SAMPLE) - 1),
        st.binary(min_size=1, max_size=12) | st.just(bytes(300)),
    ),
    max_size=5,
)
HEADER_EDITS = st.lists(
    st.tuples(
        st.sampled_from([batch.position for batch in whole(SAMPLE)]).flatmap(
            lambda at: st.integers(at, at + 30)
        ),
        st.binary(min_size=1, max_size=4),
    ),
    max_size=5,
)


@settings(max_examples=examples(300))
@given(
    edits=EDITS | HEADER_EDITS,
    cut=st.none() | st.integers(0, len(SAMPLE)),
    lost=st.none() | st.tuples(st.integers(0, len(SAMPLE)), st.integers(0, 900)),
    range_bytes=st.sampled_from([1, 300, 1500]),
)
def test_a_damaged_segment_gives_the_same_batches_in_ranges_as_in_one_scan(
    edits: list[Edit],
    cut: int | None,
    lost: tuple[int, int] | None,
    range_bytes: int,
    path: Path,
) -> None:
    data = bytearray(SAMPLE)
    for at, new in edits:
        data[at : at + len(new)] = new
    if lost is not None:
        del data[lost[0] : sum(lost)]
    damaged = bytes(data[:cut]) or b"x"
    batches, _ = in_ranges(path, damaged, range_bytes)
    assert batches == whole(damaged)


def test_a_file_that_shrinks_or_goes_after_planning_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / LOG
    path.write_bytes(SAMPLE)
    parts = plan([SourceFile(str(path), "x")], 1000)
    path.write_bytes(SAMPLE[:1500])
    with pytest.raises(UnreadableFileError, match="shorter"):
        read_range(parts[-1].path, parts[-1].start, parts[-1].end)
    path.unlink()
    for part in (parts[0], parts[-1]):
        with pytest.raises(UnreadableFileError, match=LOG):
            read_range(part.path, part.start, part.end)


def test_an_empty_segment_has_no_range(tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(b"")
    assert plan(log_files(str(tmp_path)), 100) == []


@pytest.mark.parametrize("as_uri", [False, True])
def test_a_folder_stands_for_its_live_segments_or_complete_snapshots(as_uri: bool) -> None:
    folder = RECORDED / "kafka-3.7.2-static" / "live"
    path = folder.as_uri() if as_uri else str(folder)
    logs = {str(file.relative_to(folder)) for file in folder.rglob("*.log")}
    snapshots = {
        str(file.relative_to(folder))
        for file in folder.rglob("*.checkpoint")
        if file.name != "bootstrap.checkpoint"
    }
    assert (len(logs), len(snapshots)) > (3, 3)
    assert {file.shown.removeprefix(f"{path}/") for file in log_files(path)} == logs
    assert {file.shown.removeprefix(f"{path}/") for file in snapshot_files(path)} == snapshots


@pytest.mark.parametrize("as_uri", [False, True])
def test_other_partitions_are_no_metadata_log(as_uri: bool, tmp_path: Path) -> None:
    for name in ("orders-0", METADATA_FOLDER):
        (tmp_path / name).mkdir()
        for number in (10, 9):
            (tmp_path / name / f"{number:020d}.log").write_bytes(b"x")
    path = tmp_path.as_uri() if as_uri else str(tmp_path)
    assert [file.shown for file in log_files(path)] == [
        f"{path}/{METADATA_FOLDER}/{number:020d}.log" for number in (9, 10)
    ]


def test_a_draft_snapshot_is_found(tmp_path: Path) -> None:
    name = f"{METADATA_FOLDER}/checkpoints/{9:020d}-{1:020d}.checkpoint"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(b"x")
    assert snapshot_files(str(tmp_path)) == [SourceFile(f"{tmp_path}/{name}", f"{tmp_path}/{name}")]
    assert log_files(str(tmp_path)) == []


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "quorum-state").write_bytes(b"{}")
    with pytest.raises(UsageError, match="quorum-state: neither a segment nor a snapshot"):
        log_files(str(tmp_path / "quorum-state"))
