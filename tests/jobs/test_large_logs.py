"""Replicas with large logs find batches by machine code, and others by plain Python."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.cli.engine.large_logs import (
    LARGE_BYTES,
    LARGE_REPLAY_BYTES,
    file_bytes,
    prepare,
    prepared_once_large,
)
from replica.format import runs
from replica.machines import metadata
from replica.scan import compiled_runs, stored_replay
from tests.kraftlake_process import kraftlake, started
from tests.replica.node.running import free_port

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"


@pytest.fixture(autouse=True)
def plain_before_and_afterwards() -> Iterator[None]:
    compiled_runs.find_run.load()  # Compiles it where it isn't stored.
    stored_replay.load()
    yield
    runs.use(runs.plain_run)
    metadata.use(None)


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
    assert file_bytes(log_dir, "*/*.log") == LARGE_BYTES
    prepare(log_dir)
    assert runs._find is compiled_runs.compiled_run
    assert metadata._replay_stored is stored_replay.replay_stored


def test_a_replica_with_a_large_snapshot_and_a_small_log_reads_by_machine_code(
    tmp_path: Path,
) -> None:
    log_dir = sparse_log(tmp_path, 1000)
    snapshot = tmp_path / "__cluster_metadata-0" / f"{9:020}-{1:010}.checkpoint"
    with snapshot.open("wb") as file:
        file.truncate(LARGE_REPLAY_BYTES)
    prepare(log_dir)
    assert metadata._replay_stored is None, "an observer replays nothing"
    prepare(log_dir, replays=True)
    assert metadata._replay_stored is stored_replay.replay_stored


def test_a_small_log_is_read_by_plain_python(tmp_path: Path) -> None:
    prepare(sparse_log(tmp_path, LARGE_BYTES - 1))
    assert runs._find is runs.plain_run
    assert metadata._replay_stored is None


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


def grow(log_dir: str) -> None:
    with next(Path(log_dir).glob("*/*.log")).open("r+b") as file:
        file.truncate(LARGE_BYTES)


def test_a_log_that_grows_large_is_read_by_machine_code_without_a_new_start(tmp_path: Path) -> None:
    log_dir = sparse_log(tmp_path, 1000)

    async def live() -> None:
        async with prepared_once_large(log_dir, look_every_s=0.01):
            await asyncio.sleep(0.1)
            assert runs._find is runs.plain_run
            grow(log_dir)
            async with asyncio.timeout(30):
                while runs._find is not compiled_runs.compiled_run:
                    await asyncio.sleep(0.01)

    asyncio.run(live())


def test_a_replica_whose_log_stays_small_ends_at_once(tmp_path: Path) -> None:
    async def live() -> float:
        async with prepared_once_large(sparse_log(tmp_path, 1000), look_every_s=3600):
            await asyncio.sleep(0.1)
            began = time.monotonic()
        return time.monotonic() - began

    assert asyncio.run(live()) < 5


@pytest.mark.slow
def test_a_running_replica_loads_machine_code_once_its_log_is_large(tmp_path: Path) -> None:
    config, said, port = tmp_path / "server.properties", tmp_path / "said.txt", free_port()
    config.write_text(
        f"node.id=7\nlog.dirs={tmp_path}/log\nlisteners=CONTROLLER://127.0.0.1:{port}\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{port}\n"
    )
    ran = kraftlake("replica", "format", "-c", config, "-t", CLUSTER_ID, "--standalone")
    assert ran.returncode == 0, ran.stderr
    process = started(said, "replica", "run", "-c", config)
    try:
        wait_until(lambda: "of cluster" in said.read_text(), said)
        assert not has_numpy(process.pid)
        large = tmp_path / "log" / "other-0" / f"{0:020}.log"
        large.parent.mkdir()
        with large.open("wb") as file:
            file.truncate(LARGE_BYTES)
        wait_until(lambda: has_numpy(process.pid), said)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def has_numpy(pid: int) -> bool:
    return "/numpy/" in Path(f"/proc/{pid}/maps").read_text()


def wait_until(is_so: Callable[[], bool], said: Path) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.1)
