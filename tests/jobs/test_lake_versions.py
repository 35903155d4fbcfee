"""Which release wrote a lake, and that every command refuses a lake of another schema version."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pipelines.delta import values
from pipelines.lake import Lake
from pipelines.lake.schema_version import FILE_NAME, VERSION
from pipelines.lake.versions import note_written, release
from pipelines.tables.bronze import LAKE_VERSIONS
from tests.jobs.conftest import Kraftlake


def noted(lake: Path) -> list[dict[str, Any]]:
    found = values(Lake(lake), LAKE_VERSIONS, LAKE_VERSIONS.column_names)
    return sorted(found, key=itemgetter("at"))


def test_a_new_lake_notes_the_release_that_created_it_once(tmp_path: Path) -> None:
    lake = str(tmp_path)
    note_written(Lake(lake), VERSION, is_new=True)
    note_written(Lake(lake), VERSION, is_new=False)
    (row,) = noted(tmp_path)
    assert (row["action"], row["schema_version"]) == ("created", VERSION)
    assert row["release"] == release()


def test_a_lake_that_another_release_wrote_to_notes_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_written(Lake(tmp_path), VERSION, is_new=True)
    monkeypatch.setattr("pipelines.lake.versions.release", lambda: "0.2.0")
    note_written(Lake(tmp_path), VERSION, is_new=False)
    assert [row["action"] for row in noted(tmp_path)] == ["created", "written"]


def test_the_table_of_versions_keeps_to_its_contract(tmp_path: Path) -> None:
    note_written(Lake(tmp_path), VERSION, is_new=True)
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


COMMANDS = [
    ("lake",),
    ("state",),
    ("sql", "select 1"),
    ("report",),
    ("build",),
    ("quality",),
    ("publish", "--to", "changes"),
    ("maintain",),
    ("register", "--catalog", "names"),
    ("forget", "--cluster", "c", "--yes"),
    ("ingest", "."),
]
OTHER_VERSIONS = [
    (99, "made by a newer kraftlake; this one knows 5: install the newer one here, or use another "
     "lake"),
    (2, "this release has 5: use the release that made it, or ingest the captures into a new lake"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "then"), OTHER_VERSIONS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_every_command_refuses_a_lake_of_another_schema_version(
    kraftlake: Kraftlake, tmp_path: Path, command: tuple[str, ...], version: int, then: str
) -> None:
    (tmp_path / "gold" / "metadata_changes" / "_delta_log").mkdir(parents=True)
    (tmp_path / FILE_NAME).write_text(f"{version}\n")
    ended = kraftlake(*command, "--lake", tmp_path)
    assert ended.code == 2
    assert ended.error == f"{tmp_path}: its tables are of schema version {version}, {then}"


def test_a_schema_version_that_is_no_number_is_named(kraftlake: Kraftlake, tmp_path: Path) -> None:
    (tmp_path / "bronze" / "captures" / "_delta_log").mkdir(parents=True)
    (tmp_path / FILE_NAME).write_text("two\n")
    ended = kraftlake("lake", "--lake", tmp_path)
    assert (ended.code, "_schema_version: not a number" in ended.error) == (2, True)
