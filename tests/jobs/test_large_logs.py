"""Replicas with large logs find batches by machine code, and others by plain Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.engine.large_logs import LARGE_BYTES, log_bytes, prepare
from replica.format import runs
from replica.scan import compiled_runs


@pytest.fixture(autouse=True)
def plain_before_and_afterwards() -> Iterator[None]:
    compiled_runs.find_run.load()  # Compiles it where it isn't stored.
    yield
    runs.use(runs.plain_run)


def sparse_log(folder: Path, *sizes: int) -> str:
    """log.dirs with a partition that has segments of these sizes; they are holes."""
    partition = folder / "__cluster_metadata-0"
    partition.mkdir()
    for number, size in enumerate(sizes):
        with (partition / f"{number:020}.log").open("wb") as file:
            file.truncate(size)
    return str(folder)


def test_a_large_log_is_read_by_machine_code(tmp_path: Path) -> None:
    log_dir = sparse_log(tmp_path, LARGE_BYTES // 2, LARGE_BYTES // 2)
    assert log_bytes(log_dir) == LARGE_BYTES
    prepare(log_dir)
    assert runs._find is compiled_runs.compiled_run


def test_a_small_log_is_read_by_plain_python(tmp_path: Path) -> None:
    prepare(sparse_log(tmp_path, LARGE_BYTES - 1))
    assert runs._find is runs.plain_run


def test_a_replica_without_a_folder_starts_with_plain_python(tmp_path: Path) -> None:
    prepare(str(tmp_path / "missing"))
    assert runs._find is runs.plain_run


def test_a_replica_without_the_bulk_reader_reads_a_large_log_by_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "replica.scan.compiled_runs", None)
    monkeypatch.delattr("replica.scan.compiled_runs")
    prepare(sparse_log(tmp_path, LARGE_BYTES))
    assert runs._find is runs.plain_run


def test_no_replica_waits_for_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replica.scan.store.find", lambda name: None)
    prepare(sparse_log(tmp_path, LARGE_BYTES))
    assert runs._find is runs.plain_run
