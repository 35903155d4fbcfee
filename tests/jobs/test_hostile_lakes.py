"""Lakes that somebody else has made: what they name outside of their own folder is not opened."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from pipelines.lake import Lake
from pipelines.lake.lock import locked
from pipelines.lake.schema_version import VERSION
from replica.errors import UsageError
from tests.jobs.conftest import Kraftlake

QUERY = "SELECT word FROM bronze.damage"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """With one table of one row, and a Parquet file beside the lake."""
    root = tmp_path / "lake"
    write_deltalake(root / "bronze/damage", pa.table({"word": ["inside"]}))
    (root / "_schema_version").write_text(f"{VERSION}\n")
    parquet.write_table(pa.table({"word": ["outside"]}), tmp_path / "other.parquet")
    return root


def commit(lake: Path, path: str) -> None:
    """A second commit, which adds a file to the table."""
    size = (lake.parent / "other.parquet").stat().st_size
    add = {"path": path, "size": size, "partitionValues": {}, "modificationTime": 0}
    log = lake / "bronze/damage/_delta_log/00000000000000000001.json"
    log.write_text(json.dumps({"add": {**add, "dataChange": True}}) + "\n")


@pytest.mark.parametrize(
    "path",
    [
        "{}/other.parquet",
        "file://{}/other.parquet",
        "../../../other.parquet",
        "%2e%2e/%2e%2e/../other.parquet",
        "a/%2E./../../../../other.parquet",
        "..\\..\\..\\other.parquet",
        "..%5c..%5C..%5cother.parquet",
        "s3://bucket/other.parquet",
        "http://127.0.0.1:9/other.parquet",
    ],
)
def test_a_commit_that_names_a_file_elsewhere_is_refused_before_any_file_is_read(
    kraftlake: Kraftlake, lake: Path, path: str
) -> None:
    assert "inside" in kraftlake("sql", "--lake", lake, QUERY).out
    commit(lake, path.format(lake.parent))
    ended = kraftlake("sql", "--lake", lake, QUERY)
    assert (ended.code, ended.out) == (1, "")
    assert "which is not in the table's folder" in ended.error


def test_no_link_in_a_lake_is_followed(kraftlake: Kraftlake, lake: Path) -> None:
    table, other = lake / "bronze/damage", lake.parent / "other.parquet"
    elsewhere = lake.parent / "elsewhere"
    elsewhere.mkdir()
    for place, target in (
        (table / "link.parquet", other),
        (lake / "silver", elsewhere),
        (lake / "bronze/more", table),
        (table / "folder", elsewhere),
        (lake / "_quality", elsewhere),
        (lake / "_redaction.key", other),
    ):
        place.symlink_to(target)
        ended = kraftlake("sql", "--lake", lake, QUERY)
        assert (ended.code, ended.out) == (2, "")
        assert f"{place} is a symbolic link: a lake's files lie in its own folder" in ended.error
        with pytest.raises(UsageError, match="is a symbolic link"), locked(Lake(lake), list):
            pass
        place.unlink()
    assert "inside" in kraftlake("sql", "--lake", lake, QUERY).out


def test_a_pipe_in_a_lake_keeps_nobody_waiting(kraftlake: Kraftlake, lake: Path) -> None:
    os.mkfifo(lake / "bronze/damage/_delta_log/00000000000000000001.json")
    ended = kraftlake("sql", "--lake", lake, QUERY)
    assert "is no regular file" in ended.error


def test_the_folder_of_a_lake_may_be_a_link(kraftlake: Kraftlake, lake: Path) -> None:
    named = lake.parent / "named"
    named.symlink_to(lake)
    assert "inside" in kraftlake("sql", "--lake", named, QUERY).out
