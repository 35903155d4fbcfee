"""Parquet files as tables have them: rows, physical types, bounds, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.data_files import ROW_GROUP_BYTES, batches_of, write_data_file
from pipelines.new_file import NewFile

TIME = datetime(2026, 11, 21, 1, 2, 3, 456_789, tzinfo=UTC)
VARIANT = pa.struct(
    [pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), False)]
)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("control", pa.bool_()),
        pa.field("payload", VARIANT),
        pa.field("value", pa.binary()),
    ]
)
BOUNDED = ("id", "offset", "at")


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def row(offset: int, **other: Any) -> dict[str, Any]:
    payload = {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}
    whole = {"id": "a", "at": TIME, "control": False, "payload": payload, "value": b"v"}
    return {**whole, "offset": offset, **other}


def write(folder: Path, *batches: pa.RecordBatch) -> NewFile | None:
    return write_data_file(str(folder), SCHEMA, batches, bounded=BOUNDED)


def test_a_file_holds_the_rows_of_all_batches_in_order(tmp_path: Path) -> None:
    rows = [row(1), row(2, at=None, payload=None, value=None), row(3, id="b" * 50)]

    file = write(tmp_path, batch(rows[:1]), batch([]), batch(rows[1:]))

    assert file is not None
    path = tmp_path / file.name
    assert pq.read_table(path).to_pylist() == rows
    assert list(tmp_path.iterdir()) == [path]
    assert file.size_bytes == path.stat().st_size
    assert file.row_count == 3
    assert file.modified == path.stat().st_mtime_ns // 10**6
    assert file.null_counts == {**dict.fromkeys(SCHEMA.names, 0), "at": 1, "payload": 1, "value": 1}
    assert file.bounds == {"id": ("a", "b" * 50), "offset": (1, 3), "at": (TIME, TIME)}


def test_the_physical_types_are_those_that_spark_reads(tmp_path: Path) -> None:
    file = write(tmp_path, batch([row(1)]))
    assert file is not None
    parquet = pq.ParquetFile(tmp_path / file.name)
    columns = [parquet.schema.column(k) for k in range(len(parquet.schema))]
    assert [(c.path, c.physical_type, c.max_definition_level) for c in columns] == [
        ("id", "BYTE_ARRAY", 0),  # required
        ("offset", "INT64", 0),
        ("at", "INT64", 1),
        ("control", "BOOLEAN", 1),
        ("payload.value", "BYTE_ARRAY", 1),
        ("payload.metadata", "BYTE_ARRAY", 1),
        ("value", "BYTE_ARRAY", 1),
    ]
    assert columns[2].converted_type == "TIMESTAMP_MICROS"


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    assert write(tmp_path) is None
    assert write(tmp_path, batch([]), batch([])) is None
    assert list(tmp_path.iterdir()) == []


def test_bounds_span_row_groups_and_are_left_out_where_parquet_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.data_files.ROW_GROUP_BYTES", 2000)
    rows = pa.RecordBatch.from_arrays(
        [
            pa.array(["x" * 5000, "y", "z"]),  # one longer than what Parquet keeps
            pa.array([5, -7, 6]),
            *(pa.nulls(3, SCHEMA.field(name).type) for name in SCHEMA.names[2:]),
        ],
        schema=SCHEMA,
    )
    later = pa.RecordBatch.from_pylist([row(9, id="b")], SCHEMA)

    file = write(tmp_path, rows, later, later)

    assert file is not None
    assert pq.read_metadata(tmp_path / file.name).num_row_groups == 2
    assert file.bounds == {"offset": (-7, 9), "at": (TIME, TIME)}
    assert file.null_counts["payload"] == 3


def test_two_writes_never_share_a_name(tmp_path: Path) -> None:
    names = {file.name for _ in range(3) if (file := write(tmp_path, batch([row(1)])))}
    assert len(names) == 3


def test_a_folder_may_be_a_uri(tmp_path: Path) -> None:
    file = write_data_file(tmp_path.as_uri(), SCHEMA, [batch([row(4)])], bounded=BOUNDED)
    assert file is not None
    assert pq.read_table(tmp_path / file.name).to_pylist() == [row(4)]


NULLABLE = pa.schema([field.with_nullable(True) for field in SCHEMA])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (pa.RecordBatch.from_pylist([row(1, id=None)], NULLABLE), "id has no value in 1 rows"),
        (batch([row(1)]).drop_columns("value"), "value is missing"),
        (
            pa.RecordBatch.from_pylist([row(1)], SCHEMA.set(1, pa.field("offset", pa.int32()))),
            "offset is int32, not int64",
        ),
    ],
)
def test_batches_that_break_the_schema_are_refused(
    bad: pa.RecordBatch, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        write(tmp_path, batch([row(1)]), bad)


def test_reading_files_in_batches_gives_all_rows_in_the_order_of_the_files(tmp_path: Path) -> None:
    rows = [row(number) for number in range(20_000)]
    files = [write(tmp_path, batch(some)) for some in (rows[:15_000], rows[15_000:])]
    names = [file.name for file in files if file is not None]

    read = [one for some in batches_of(str(tmp_path), names) for one in some.to_pylist()]

    assert read == rows


def test_reading_a_large_file_holds_a_part_of_it_in_memory(tmp_path: Path) -> None:
    value = pa.array([bytes(1024)] * 4096, pa.binary())
    one = batch([row(number) for number in range(4096)])
    large = one.set_column(5, SCHEMA.field("value"), value)
    file = write(tmp_path, *[large] * 40)  # 160 MiB of values, in five row groups
    assert file is not None
    before = pa.total_allocated_bytes()

    held = [pa.total_allocated_bytes() - before for _ in batches_of(str(tmp_path), [file.name])]

    assert len(held) > 10
    assert max(held) < 2 * ROW_GROUP_BYTES
