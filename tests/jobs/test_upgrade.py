"""`kraftlake lake --upgrade`: what it refuses, and a lake that an earlier release really wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.delta.lake_versions import (
    lake_versions,
    note_upgraded,
    note_written,
    release,
)
from pipelines.schema_version import FILE_NAME, VERSION
from tests.jobs.conftest import Kraftlake


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


def test_dry_run_alone_means_nothing(kraftlake: Kraftlake, tmp_path: Path) -> None:
    ended = kraftlake("lake", "--lake", tmp_path, "--dry-run")
    assert (ended.code, ended.error) == (2, "--dry-run goes with --upgrade")
