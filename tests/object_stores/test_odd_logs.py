"""A table's log in a store is looked at before delta-rs opens what it names, as on a disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from pipelines.lake.delta_log import refuse_commit_elsewhere
from pipelines.lake.delta_rs import open_table
from replica.errors import UnreadableFileError
from tests.object_stores.s3_server import S3Server

pytestmark = pytest.mark.slow
FIRST = f"{0:020}"


@pytest.fixture
def table(server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The folder in which the server keeps a table, whose URI is s3://NAME/t."""
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    bucket = server.make_bucket(f"odd-{abs(hash(tmp_path.name)) % 10**9}")
    write_deltalake(str(bucket / "t"), pa.table({"a": [1, 2]}))
    return bucket / "t"


def uri_of(table: Path) -> str:
    return f"s3://{table.parent.name}/t"


def test_a_plain_log_and_its_checkpoint_are_read(table: Path) -> None:
    opened = open_table(uri_of(table))
    assert opened.version() == 0
    opened.create_checkpoint()
    assert open_table(uri_of(table)).version() == 0


@pytest.mark.parametrize(
    "name",
    [
        f"{0:020}.{0:020}.compacted.json",
        f"{0:020}.checkpoint.0000000001.0000000002.parquet",
        "_sidecars/x.parquet",
        f"{0:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
    ],
)
def test_what_kraftlake_does_not_write_into_a_log_is_refused(table: Path, name: str) -> None:
    path = table / "_delta_log" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")
    with pytest.raises(UnreadableFileError, match="kraftlake writes no such thing"):
        open_table(uri_of(table))


def test_a_checkpoint_that_names_further_files_is_refused_before_they_are_opened(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.lake.delta_rs.DeltaTable", None)  # It isn't asked.
    sidecar = pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64())])
    rows = pa.table({"sidecar": pa.array([{"path": "../x", "sizeInBytes": 1}], sidecar)})
    pq.write_table(rows, table / "_delta_log" / f"{FIRST}.checkpoint.parquet")
    with pytest.raises(UnreadableFileError, match="it names further files"):
        open_table(uri_of(table))


def test_a_checkpoint_that_is_none_is_one_line(table: Path) -> None:
    (table / "_delta_log" / f"{FIRST}.checkpoint.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UnreadableFileError, match="no checkpoint"):
        open_table(uri_of(table))


def test_a_commit_whose_changes_lie_elsewhere_is_refused(table: Path) -> None:
    refuse_commit_elsewhere(uri_of(table), 0)
    action = {"cdc": {"path": "../../other/x.parquet", "partitionValues": {}, "size": 1}}
    commit = table / "_delta_log" / f"{1:020}.json"
    commit.write_text(json.dumps(action) + "\n")
    with pytest.raises(UnreadableFileError, match="not in the table's folder"):
        refuse_commit_elsewhere(uri_of(table), 1)
    refuse_commit_elsewhere(uri_of(table), 2)  # There is none.
