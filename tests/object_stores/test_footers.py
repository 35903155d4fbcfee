"""The ends of a table's data files in a store are looked at before delta-rs reads the files."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.lake.delta_rs import open_table, readable
from replica.errors import UnreadableFileError
from tests.kraftlake_process import kraftlake
from tests.object_stores.hostile_store import HostileStore, hostile_store

TABLE = "s3://bucket/t"
LIES = "its Parquet footer claims 2147483647 bytes, more than the file has"
Served = Callable[[], HostileStore]


def lie(folder: Path) -> None:
    for file in folder.glob("*.parquet"):
        data = file.read_bytes()
        file.write_bytes(data[:-8] + struct.pack("<I", 2**31 - 1) + data[-4:])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a table with two files."""
    for number in range(2):
        write_deltalake(tmp_path / "t", pa.table({"n": [number]}), mode="append")
    return tmp_path / "t"


@pytest.fixture
def served(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Serves the table as it is now, from here on."""
    with hostile_store(folder, "t", lambda _: False) as store:
        for name, value in store.variables.items():
            monkeypatch.setenv(name, value)

        def serve() -> HostileStore:
            store.objects = {
                f"t/{path.relative_to(folder)}": path.read_bytes()
                for path in folder.rglob("*")
                if path.is_file()
            }
            return store

        yield serve


def test_a_sound_table_is_looked_at_once_for_each_version(served: Served, folder: Path) -> None:
    store = served()

    def ends_asked() -> int:
        store.asked.clear()
        readable(open_table(TABLE))
        return sum(one.startswith("GET ") and one.endswith(".parquet") for one in store.asked)

    assert [ends_asked(), ends_asked()] == [2, 0]
    write_deltalake(folder, pa.table({"n": [9]}), mode="append")
    served()
    assert ends_asked() == 3


def test_a_footer_that_lies_is_refused(served: Served, folder: Path) -> None:
    lie(folder)
    served()
    with pytest.raises(UnreadableFileError, match=LIES) as refused:
        readable(open_table(TABLE))
    assert refused.value.path.startswith(f"{TABLE}/part-")


def test_a_file_that_is_not_there_or_shorter_than_the_log_says_is_left_to_readers(
    served: Served, folder: Path
) -> None:
    first, second = folder.glob("*.parquet")
    first.unlink()
    second.write_bytes(b"PAR1")
    served()
    readable(open_table(TABLE))


def test_no_library_panics_and_the_line_names_the_file(built_lake: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(built_lake, lake)
    lie(lake / "gold/findings")
    with hostile_store(lake, "lake", lambda _: False) as store:
        ended = kraftlake(
            "sql", "--lake", "s3://bucket/lake", "SELECT * FROM gold.findings",
            variables=store.variables,
        )  # fmt: skip
    assert ended.returncode == 1
    assert "panicked" not in ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith("kraftlake: error: s3://bucket/lake/gold/findings/part-")
    assert LIES in line
