"""What a lake's last build was made from: when it still holds, and files that no build wrote."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.lake import Lake, redaction, schema_version
from pipelines.lake.delta_rs import newest_states
from pipelines.last_build import FILE_NAME, last_build, note_build
from replica.errors import UnreadableFileError

CAPTURES, FINDINGS = "bronze.captures", "gold.findings"
VERSIONS = {CAPTURES: 1, FINDINGS: 1}


def make_table(lake: Path, name: str) -> None:
    """Of two commits, so at version 1."""
    for number in (1, 2):
        folder = lake / name.replace(".", "/")
        write_deltalake(str(folder), pa.table({"number": [number]}), mode="append")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in VERSIONS:
        make_table(tmp_path, name)
    states = newest_states(Lake(tmp_path), VERSIONS)
    note_build(Lake(tmp_path), states, {FINDINGS: 2}, {"c": (1, 1)}, [])
    return tmp_path


def still_holds(lake: Path) -> bool:
    known = last_build(Lake(lake))
    return known is not None and known.still_holds(Lake(lake))


def test_a_build_holds_while_no_table_has_changed(lake: Path) -> None:
    assert still_holds(lake)
    DeltaTable(str(lake / "bronze" / "captures")).alter.set_table_description("changed")
    assert not still_holds(lake)


def test_a_lake_that_was_copied_elsewhere_is_built(lake: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(lake, tmp_path / "elsewhere")
    assert still_holds(copy)


@pytest.mark.parametrize("name", VERSIONS)
def test_another_table_of_the_same_name_and_version_is_not_the_one_that_was_built(
    lake: Path, name: str
) -> None:
    shutil.rmtree(lake / name.replace(".", "/"))
    make_table(lake, name)
    assert not still_holds(lake)


def test_a_table_that_another_commit_has_changed_in_between_does_not_hold(lake: Path) -> None:
    (lake / FILE_NAME).unlink()
    states = newest_states(Lake(lake), VERSIONS)
    states[CAPTURES] = states[CAPTURES][0], 0
    note_build(Lake(lake), states, {FINDINGS: 2}, {"c": (1, 1)}, [])
    assert not still_holds(lake)


@pytest.mark.parametrize("content", ["", "[]", "null", "[" * 100_000], ids=lambda text: text[:4])
def test_a_file_that_no_build_wrote_says_nothing(lake: Path, content: str) -> None:
    (lake / FILE_NAME).write_text(content)
    assert last_build(Lake(lake)) is None


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
@pytest.mark.parametrize("name", [FILE_NAME, schema_version.FILE_NAME, redaction.FILE_NAME])
def test_a_folder_or_pipe_in_place_of_a_small_file_is_named(
    lake: Path, name: str, make: Callable[[Path], None]
) -> None:
    (lake / name).unlink(missing_ok=True)
    make(lake / name)
    with pytest.raises(UnreadableFileError, match=f"{name}: not a regular file"):
        Lake(lake).read(name)


@pytest.mark.parametrize(
    "changed",
    [
        {"tables": 5},
        {"tables": {}},
        {"tables": {"../elsewhere\0": ["id", 1]}},
        {"tables": {CAPTURES: 1}},
        {"rows": None},
        {"rows": [1]},
        {"rows": {FINDINGS: "two"}},
        {"rows": {"../elsewhere": 2}},
        {"derivation": None},
        {"clusters": {"c": 1}},
        {"judgements": [1]},
    ],
    ids=str,
)
def test_a_file_that_somebody_has_changed_says_nothing(
    lake: Path, changed: dict[str, object]
) -> None:
    written = json.loads((lake / FILE_NAME).read_text())
    (lake / FILE_NAME).write_text(json.dumps({**written, **changed}))
    assert not still_holds(lake)
