"""An archive's entry of a truncation is a fragment of a log, and so is a single file: each brings
its records into the lake, and says nothing about the records that it lacks."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs import build, ingest
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from pipelines.lake import Lake
from pipelines.tables import bronze, gold, quorum
from replica.storage.archive import Archive
from replica.storage.filesystem import LocalDisk
from replica.storage.identity import read_identity
from replica.storage.recovery import open_log
from tests.pipelines.lake_rows import rows, rows_of

PARTITION = "__cluster_metadata-0"
BEFORE, CUT, AFTER = (datetime(2026, 11, 21, hour, tzinfo=UTC) for hour in (1, 2, 3))
SEEN_END, START, END = 1500, 1526, 1548
"""Where the log ended at the first capture; the first offset that was truncated; the log end
then."""


@dataclass(frozen=True)
class Recording:
    """The directory of a recorder before and after a truncation, and its archive."""

    before: Path
    after: Path
    archive: Path


@pytest.fixture(scope="module")
def recording(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Node 2 of the dynamic quorum, which wrote offsets 1526 to 1547 while it was cut off."""
    folder, nodes = tmp_path_factory.mktemp("recording"), data / "kafka-4.1.1-dynamic"
    before, cut, files = folder / "before", folder / "cut", LocalDisk()
    for copy in (before, cut):
        shutil.copytree(nodes / "split/2", copy)
    owner = read_identity(files, str(cut))
    assert owner is not None
    kept = Archive(
        files, str(cut / "archive"), owner, PARTITION, lambda: int(CUT.timestamp() * 1000), print
    )
    (cut / "archive").mkdir()
    for copy, end, archive in ((before, SEEN_END, None), (cut, START, kept)):
        log = open_log(files, str(copy / PARTITION), archive=archive)
        log.truncate_to(end)
        log.close()
    return Recording(before, nodes / "final/2", cut / "archive")


def took(lake: Path, *paths: Path, at: datetime, of: str | None = None) -> None:
    options = IngestOptions(list(map(str, paths)), Lake(lake), captured_at=at.isoformat())
    if of is not None:
        options = replace(options, as_replica=of)
    assert ingest.run(options) == 0


@pytest.fixture(
    scope="module", params=["with the next capture", "in one ingest", "late", "in between"]
)
def lake(
    request: pytest.FixtureRequest, recording: Recording, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A lake into which the recording and its archive were ingested, in each of four orders. Read
    only."""
    lake = tmp_path_factory.mktemp("ordered") / "lake"
    before, after, archive = recording.before, recording.after, recording.archive
    if request.param != "in one ingest":
        took(lake, before, at=BEFORE)
    match request.param:
        case "late":
            took(lake, after, at=AFTER)
            took(lake, archive, at=AFTER)
        case "in between":
            took(lake, archive, at=AFTER)
            took(lake, after, at=AFTER)
        case _:
            took(lake, after, archive, at=AFTER)
    return lake


def test_only_the_records_of_the_fragment_are_truncated(lake: Path) -> None:
    gone = rows_of(lake, bronze.LOG_BATCHES, "truncated_at IS NOT NULL OR removed_at IS NOT NULL")
    assert (gone[0].base_offset, gone[-1].last_offset + 1) == (START, END)
    assert {(row.first_seen, row.last_seen) for row in gone} == {(CUT, CUT)}
    assert {(row.truncated_at, row.removed_at) for row in gone} == {(AFTER, None)}
    held = rows_of(lake, bronze.LOG_BATCHES, "truncated_at IS NULL")
    assert {row.last_seen for row in held} == {None}
    assert held[0].base_offset == 0


def test_no_rule_about_whole_directories_judges_a_fragment(lake: Path) -> None:
    fragment = "capture_id IN (SELECT capture_id FROM bronze.captures WHERE is_fragment)"
    assert rows(lake, f"SELECT rule FROM bronze.findings WHERE {fragment}") == []


@pytest.mark.slow
def test_the_derived_tables_tell_the_truncation_and_no_state_of_the_fragment(
    recording: Recording, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    took(lake, recording.before, at=BEFORE)
    took(lake, recording.archive, at=AFTER)
    assert build.run(BuildOptions(Lake(lake))) == 0
    assert rows_of(lake, gold.TRUNCATIONS) == []
    (status,) = rows_of(lake, quorum.REPLICA_STATUS)
    assert (status.is_latest, status.log_start_offset, status.log_end_offset) == (True, 0, SEEN_END)
    (forecast,) = rows_of(lake, quorum.RETENTION_FORECAST)
    assert forecast.capture_id == status.capture_id
    (committed,) = rows(lake, 'SELECT max("offset") AS last FROM silver.committed_log')
    assert committed.last == SEEN_END - 1

    took(lake, recording.after, at=AFTER)
    assert build.run(BuildOptions(Lake(lake))) == 0
    (told,) = rows_of(lake, gold.TRUNCATIONS)
    assert (told.from_offset, told.to_offset) == (START, END)
    assert (told.last_seen, told.seen_at) == (CUT, AFTER)
    fragment = "capture_id IN (SELECT capture_id FROM bronze.captures WHERE is_fragment)"
    assert rows(lake, f"SELECT rule FROM gold.findings WHERE {fragment}") == []


def test_an_archive_alone_can_be_built(recording: Recording, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    took(lake, recording.archive, at=AFTER)
    assert build.run(BuildOptions(Lake(lake))) == 0
    (status,) = rows_of(lake, quorum.REPLICA_STATUS)
    assert (status.log_start_offset, status.log_end_offset) == (START, END)


def test_two_truncations_that_one_look_shows_are_told_apart(
    recording: Recording, tmp_path: Path
) -> None:
    """The second one took back records at the offsets of the first."""
    lake, second = tmp_path / "lake", tmp_path / "second"
    shutil.copytree(recording.after, second)
    (second / "archive").mkdir()
    at = datetime(2026, 11, 21, 2, 30, tzinfo=UTC)
    owner = read_identity(LocalDisk(), str(second))
    assert owner is not None
    kept = Archive(
        LocalDisk(),
        str(second / "archive"),
        owner,
        PARTITION,
        lambda: int(at.timestamp() * 1000),
        print,
    )
    log = open_log(LocalDisk(), str(second / PARTITION), archive=kept)
    log.truncate_to(START)
    log.close()
    took(lake, second, recording.archive, second / "archive", at=AFTER)
    assert build.run(BuildOptions(Lake(lake))) == 0
    told = rows_of(lake, gold.TRUNCATIONS)
    assert [(row.last_seen, row.from_offset) for row in told] == [(CUT, START), (at, START)]
    assert told[0].to_offset == END < told[1].to_offset


@pytest.mark.parametrize(
    "name",
    [
        "00000000000000000000.log",
        "00000000000000000967.log",
        "00000000000000002147-0000000004.checkpoint",
    ],
)
def test_a_single_file_of_a_known_replica_shows_no_truncation_and_no_deletion(
    name: str, data: Path, tmp_path: Path
) -> None:
    node, lake = data / "kafka-4.4.0-dynamic/final/3", tmp_path / "lake"
    owner = read_identity(LocalDisk(), str(node))
    assert owner is not None
    took(lake, node, at=BEFORE)
    replica = f"{owner.cluster_id}:{owner.node_id}:{owner.directory_id}"
    took(lake, node / PARTITION / name, at=AFTER, of=replica)
    gone = "truncated_at IS NOT NULL OR removed_at IS NOT NULL"
    assert rows_of(lake, bronze.LOG_BATCHES, gone) == []
    captures = rows_of(lake, bronze.CAPTURES)
    assert {row.captured_at: row.is_fragment for row in captures} == {BEFORE: False, AFTER: True}


def test_a_node_of_which_there_are_single_files_alone_is_compared_with_whole_nodes(
    data: Path, tmp_path: Path
) -> None:
    """Node 2 wrote offsets 1526 to 1547 while it was cut off."""
    nodes, lake = data / "kafka-4.1.1-dynamic/split", tmp_path / "lake"
    owner = read_identity(LocalDisk(), str(nodes / "2"))
    assert owner is not None
    files = sorted((nodes / "2" / PARTITION).glob("*.log"))
    replica = f"{owner.cluster_id}:{owner.node_id}:{owner.directory_id}"
    took(lake, nodes / "1", nodes / "3", *files, at=AFTER, of=replica)
    assert build.run(BuildOptions(Lake(lake))) == 0
    status = {row.node_id: row.log_end_offset for row in rows_of(lake, quorum.REPLICA_STATUS)}
    assert status[2] == END
    points = rows_of(lake, gold.DIVERGENCE_POINTS)
    assert {(row.node_a, row.node_b) for row in points} == {(1, 2), (1, 3), (2, 3)}
