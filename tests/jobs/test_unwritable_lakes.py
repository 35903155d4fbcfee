"""A lake that can't be written is named before Spark starts; what is in it stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipelines.lake import Lake
from pipelines.lake.folder import check_writable
from pipelines.lake.schema_version import FILE_NAME, VERSION
from replica.errors import UnwritableFileError
from tests.jobs.conftest import Ended
from tests.rights import kraftlake, needs_linux, read_only

pytestmark = needs_linux

NODE = "kafka-3.7.2-static/final/1"
WRITING = {
    "ingest": ("ingest", "{}"),
    "stream": ("ingest", "--available-now", "{}"),
    "build": ("build",),
    "quality": ("quality",),
    "maintain": ("maintain",),
    "forget": ("forget", "--cluster", "c", "--yes"),
    "vacuum": ("forget", "--vacuum", "--yes"),
}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """As far as a command looks at it before it starts Spark."""
    for table in ("bronze/captures", "silver/voter_sets", "gold/findings"):
        (tmp_path / "lake" / table / "_delta_log").mkdir(parents=True)
    (tmp_path / "lake" / FILE_NAME).write_text(f"{VERSION}\n")
    return tmp_path / "lake"


def run(data: Path, command: str, lake: Path) -> Ended:
    words = [word.format(data / NODE) for word in WRITING[command]]
    done = kraftlake(*words, "--lake", lake)
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("command", WRITING)
def test_a_lake_that_has_become_read_only_is_one_line(data: Path, lake: Path, command: str) -> None:
    before = sorted(lake.rglob("*"))
    with read_only(lake):
        ended = run(data, command, lake)
    assert (ended.code, ended.error) == (
        1,
        f"{lake}: Permission denied; nothing was changed. Give the user of this process (uid "
        f"{os.geteuid()}) the right to write there, or mount it to be written",
    )
    assert sorted(lake.rglob("*")) == before


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("ingest", "bronze/captures/_delta_log"),
        ("build", "gold"),
        ("build", "silver/voter_sets"),
        ("quality", "gold/findings/_delta_log"),
        ("maintain", "silver/voter_sets"),
        ("forget", "bronze/captures"),
        ("vacuum", "gold/findings"),
    ],
)
def test_a_folder_in_a_lake_that_another_user_made_is_named(
    data: Path, lake: Path, command: str, folder: str
) -> None:
    mode = (lake / folder).stat().st_mode
    (lake / folder).chmod(0o555)
    ended = run(data, command, lake)
    (lake / folder).chmod(mode)
    assert ended.code == 1
    assert ended.error.startswith(f"{lake / folder}: this user may not write; nothing was changed")


def test_a_command_needs_to_write_only_the_tables_that_it_makes(lake: Path) -> None:
    with read_only(lake / "bronze"):
        done = kraftlake("quality", "--lake", lake)
    assert "has no bronze tables: run `kraftlake ingest" in done.stderr


def test_a_new_lake_in_a_folder_that_is_read_only_is_one_line(data: Path, tmp_path: Path) -> None:
    with read_only(tmp_path):
        ended = run(data, "ingest", tmp_path / "lake")
    assert ended.code == 1
    assert ended.error.startswith(f"{tmp_path}/lake/_ingest.lock: Permission denied")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_lake_is_named(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file")
    with pytest.raises(UnwritableFileError, match=f"^{tmp_path}/lake: Not a directory; nothing"):
        check_writable(Lake(tmp_path / "lake"), ("bronze",))


def test_a_lake_that_can_be_written_is_left_as_it_is(lake: Path) -> None:
    before = sorted(lake.rglob("*"))
    check_writable(Lake(lake), ("bronze", "silver", "gold"))
    check_writable(Lake(f"file://{lake}"), ("bronze",))
    check_writable(Lake(lake / "none"), ("bronze",))
    assert sorted(lake.rglob("*")) == before
