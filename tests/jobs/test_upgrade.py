"""`kraftlake lake --upgrade`: what it refuses, and a lake that an earlier release really wrote."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs.lake import upgrade as job
from pipelines.bronze.earlier_batches import told_anew
from pipelines.bronze.remaining import Moment, moment_of
from pipelines.delta.lake_versions import (
    LakeVersion,
    lake_versions,
    note_upgraded,
    note_written,
    release,
)
from pipelines.schema_version import FILE_NAME, VERSION, schema_version
from tests.jobs.conftest import Kraftlake

OLD_LAKE = Path(__file__).parents[1] / "golden" / "lakes" / "schema-version-1.tar.xz"
REPLICA = ("cluster_id", "node_id", "directory_id")
TIMES = ("first_seen", "last_seen", "truncated_at", "removed_at")
SPANS = ("in_log", "undamaged", "seen")


@pytest.fixture
def old_lake(tmp_path: Path) -> Path:
    """What `recorded_lake` holds, as commit 6ad1dc0 ingested and built it, of schema version 1."""
    lake = tmp_path / "lake"
    with tarfile.open(OLD_LAKE) as archive:
        archive.extractall(lake, filter="data")
    return lake


def rows_of(lake: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(str(lake / table)).to_pyarrow_table().to_pylist()
    return found


def batches_by_capture(lake: Path) -> list[dict[str, Any]]:
    """Rows of log_batches, each time as the number of the replica's capture. Without the CRC: a
    lake that an earlier release began keeps Kafka's own, also of batches with secrets."""
    numbers: dict[tuple[Any, ...], dict[datetime | None, int | None]] = {}
    for row in sorted(rows_of(lake, "bronze/captures"), key=lambda row: row["captured_at"]):
        known = numbers.setdefault(replica_of(row), {None: None})
        known[row["captured_at"]] = len(known)
    found = []
    for row in rows_of(lake, "bronze/log_batches"):
        del row["crc"]
        number = numbers[replica_of(row)]
        row["file"] = row["file"].partition("tests/data/")[2]
        row |= {name: number[row[name]] for name in TIMES}
        row |= {
            name: [(number[span["from"]], number[span["to"]]) for span in row[name]]
            for name in SPANS
        }
        found.append(row)
    key = (*REPLICA, "base_offset", "leader_epoch", "size_bytes", "position")
    return sorted(found, key=lambda row: tuple(row[name] for name in key))


def replica_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in REPLICA)


def test_a_new_lake_notes_who_created_it_and_an_upgrade_who_changed_it(tmp_path: Path) -> None:
    lake = str(tmp_path)
    assert lake_versions(lake) == []
    note_written(lake, 1, is_new=True)
    note_written(lake, 1, is_new=False)  # the same release again: no news
    note_upgraded(lake, 2)
    note_written(lake, 2, is_new=False)
    told = [(row.action, row.schema_version, row.release) for row in lake_versions(lake)]
    assert told == [("created", 1, release()), ("upgraded", 2, release())]


def test_a_lake_that_another_release_wrote_to_notes_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_written(str(tmp_path), VERSION, is_new=True)
    monkeypatch.setattr("pipelines.delta.lake_versions.release", lambda: "0.2.0")
    note_written(str(tmp_path), VERSION, is_new=False)
    assert [row.action for row in lake_versions(str(tmp_path))] == ["created", "written"]


def test_the_table_of_versions_keeps_to_its_contract(tmp_path: Path) -> None:
    from pipelines.tables.lake_versions import LAKE_VERSIONS

    note_written(str(tmp_path), VERSION, is_new=True)
    table = DeltaTable(str(tmp_path / "bronze" / "lake_versions"))
    fields = {
        field.name: (str(field.type.type), field.nullable, field.metadata["comment"])
        for field in table.schema().fields
    }
    assert fields == {
        column.name: (
            column.data_type.typeName(),
            column.nullable,
            column.description,
        )
        for column in LAKE_VERSIONS.columns
    }
    assert table.metadata().description == LAKE_VERSIONS.description


@pytest.mark.parametrize(
    "command",
    [
        ("lake", "--upgrade"),
        *(("lake",), ("state",), ("sql", "select 1"), ("report",), ("build",), ("quality",)),
        ("publish", "--to", "changes"),
        ("forget", "--cluster", "c", "--yes"),
        ("ingest", "."),
    ],
)
def test_every_command_refuses_a_lake_that_is_newer_than_the_program(
    kraftlake: Kraftlake, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "gold" / "metadata_changes" / "_delta_log").mkdir(parents=True)
    (tmp_path / FILE_NAME).write_text("99\n")
    ended = kraftlake(*command, "--lake", tmp_path)
    assert ended.code == 2
    assert ended.error.startswith(
        f"{tmp_path}: its tables are of schema version 99, made by a newer"
    )


def test_a_version_that_is_no_number_is_named(kraftlake: Kraftlake, tmp_path: Path) -> None:
    (tmp_path / "bronze" / "captures" / "_delta_log").mkdir(parents=True)
    (tmp_path / FILE_NAME).write_text("two\n")
    ended = kraftlake("lake", "--lake", tmp_path, "--upgrade")
    assert (ended.code, "_schema_version: not a number" in ended.error) == (2, True)


def test_each_batch_of_a_real_old_lake_is_told_anew_and_what_was_seen_to_vanish_stays_so(
    old_lake: Path,
) -> None:
    moments: dict[tuple[Any, ...], list[Moment]] = {}
    for row in sorted(rows_of(old_lake, "bronze/captures"), key=lambda row: row["captured_at"]):
        moments.setdefault(replica_of(row), []).append(moment_of(row))
    rows = rows_of(old_lake, "bronze/log_batches")
    anew = [told_anew(row, moments[replica_of(row)]) for row in rows]
    assert [told_anew(row, moments[replica_of(row)]) for row in anew] == anew
    vanished = [row for row in anew if row["last_seen"] is not None]
    assert len(vanished) == 12 + 87, "12 were truncated, 87 removed below the log start"
    for row in anew:
        is_open = row["last_seen"] is None
        assert is_open == (row["truncated_at"] is None and row["removed_at"] is None)
        assert is_open == (row["seen"][-1]["to"] is None)
        assert row["seen"][0]["from"] == row["first_seen"]


def test_dry_run_alone_means_nothing(kraftlake: Kraftlake, tmp_path: Path) -> None:
    ended = kraftlake("lake", "--lake", tmp_path, "--dry-run")
    assert (ended.code, ended.error) == (2, "--dry-run goes with --upgrade")


@pytest.mark.spark
class TestAnOldLake:
    def test_is_told_what_would_be_done_and_stays_as_it_is(
        self, spark: SparkSession, old_lake: Path, kraftlake: Kraftlake
    ) -> None:
        before = sorted(path for path in old_lake.rglob("*") if path.name != "_ingest.lock")
        refused = kraftlake("build", "--lake", old_lake)
        assert f"run `kraftlake lake --lake {old_lake} --upgrade`" in refused.error
        ended = kraftlake("lake", "--lake", old_lake, "--upgrade", "--dry-run", "--json")
        assert ended.code == 0
        told = {(row["table"], row["what"]): row["detail"] for row in ended.rows}
        assert told["bronze.log_batches", "add column"] == "undamaged, seen"
        assert told["bronze.captures", "add column"] == (
            "round_name, has_own_time, files.element.known"
        )
        assert told["bronze.replica_state", "add column"] == "configured_voters"
        assert told["bronze.log_batches", "allow NULL"] == "last_seen"
        assert told["bronze.log_batches", "tell anew"] == "last_seen, in_log, undamaged, seen"
        after = sorted(path for path in old_lake.rglob("*") if path.name != "_ingest.lock")
        assert before == after

    def test_is_upgraded_to_what_an_ingest_of_the_same_captures_gives_also_after_a_kill(
        self, recorded_lake: Path, old_lake: Path, kraftlake: Kraftlake, data: Path
    ) -> None:
        with interrupted_after(3), pytest.raises(Interrupted):
            job.run(lake=str(old_lake))
        assert schema_version(str(old_lake)) == 1, "a run that is repeated does every step"
        assert "--upgrade" in kraftlake("ingest", "--lake", old_lake, data).error

        ended = kraftlake("lake", "--lake", old_lake, "--upgrade", "--json")
        assert ended.code == 0, ended.err
        assert schema_version(str(old_lake)) == VERSION
        (note,) = lake_versions(str(old_lake))
        assert note == LakeVersion(note.at, "upgraded", VERSION, release())
        shown = kraftlake("lake", "--lake", old_lake, "--json").rows
        told = [(row["action"], row["release"]) for row in shown if row["kind"] == "version"]
        assert told == [("upgraded", release())]
        again = kraftlake("lake", "--lake", old_lake, "--upgrade")
        assert (again.code, again.out) == (0, "")
        assert again.complaints[-1].endswith(f"the lake is of schema version {VERSION}")

        upgraded = batches_by_capture(old_lake)
        assert upgraded == batches_by_capture(recorded_lake)
        assert {name for row in upgraded for name in TIMES if row[name]} == set(TIMES)

    @pytest.mark.slow
    def test_takes_the_next_capture_once_it_is_upgraded_and_can_be_built(
        self, spark: SparkSession, old_lake: Path, kraftlake: Kraftlake, data: Path
    ) -> None:
        assert kraftlake("lake", "--lake", old_lake, "--upgrade").code == 0
        held = len(rows_of(old_lake, "bronze/log_batches"))
        final = data / "kafka-3.7.2-static" / "final"
        assert kraftlake("ingest", "--lake", old_lake, final).code == 0
        assert len(rows_of(old_lake, "bronze/log_batches")) == held, "all were known"
        assert kraftlake("build", "--lake", old_lake).code == 0
        parted = rows_of(old_lake, "gold/divergence_points")
        assert {row["divergence_offset"] for row in parted} == {None, 750, 1526}


class Interrupted(Exception):
    """As a kill would end a run between two steps."""


@contextmanager
def interrupted_after(steps: int) -> Iterator[None]:
    """Lets an upgrade make that many steps."""
    left = iter(range(steps))

    def complain(line: str) -> None:
        if line != "upgrade: starting Spark" and next(left, None) is None:
            raise Interrupted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "complain", complain)
        yield
