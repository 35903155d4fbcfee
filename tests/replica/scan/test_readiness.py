"""What happens where no kernel is compiled: nothing waits for the compiler where little is read."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from replica.metadata.redact import Redactor
from replica.scan import compiler, readiness, regions, segments, store
from replica.scan.arrow import BatchScan, RecordScan
from replica.scan.columns import BATCH_SCHEMA, RECORD_SCHEMA
from replica.scan.readiness import PAYS_BYTES, WAITS_BYTES, _Readiness, expect, ready
from replica.scan.variant_texts import variant_texts

_ROOT = Path(__file__).parents[3]


@pytest.fixture
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a fresh machine. Whatever would compile or wait fails."""

    def fails(name: str) -> bytes:
        raise AssertionError(f"{name} was to be compiled")

    monkeypatch.setattr(_Readiness, "is_ready", False)
    monkeypatch.setattr(_Readiness, "looked_at", float("-inf"))
    monkeypatch.setattr(_Readiness, "expected_bytes", 0)
    monkeypatch.setattr(_Readiness, "compiling", None)
    monkeypatch.setattr(store, "find", lambda name: None)
    monkeypatch.setattr(compiler, "compile_kernel", fails)


@pytest.fixture(scope="module")
def logs(data: Path) -> list[Path]:
    return sorted(
        path
        for folder in ("kafka-4.1.1-dynamic/split", "generated-all-types")
        for path in (data / folder).rglob("*")
        if path.suffix in (".log", ".checkpoint") and path.stat().st_size
    )


def records(path: Path) -> pa.Table:
    scan = RecordScan(path.read_bytes(), redactor=Redactor(b"key"))
    return pa.Table.from_batches(scan, RECORD_SCHEMA)


def batches(path: Path) -> pa.Table:
    scan = BatchScan(path.read_bytes(), redactor=Redactor(b"key"))
    return pa.Table.from_batches(scan, BATCH_SCHEMA)


def test_small_files_are_read_without_a_kernel_and_alike(
    logs: list[Path], request: pytest.FixtureRequest
) -> None:
    assert ready()
    expected = [(records(path), batches(path)) for path in logs]
    texts = [variant_texts(of_records["payload"]) for of_records, _ in expected]
    request.getfixturevalue("nothing_compiled")
    assert not ready()
    assert len(logs) > 5
    for path, (of_records, of_batches), of_variants in zip(logs, expected, texts, strict=True):
        found = records(path)
        assert found.equals(of_records), path
        assert batches(path).equals(of_batches), path
        assert variant_texts(found["payload"]).equals(of_variants), path


def test_a_scan_goes_over_to_kernels_in_the_middle_of_a_file(
    logs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = max(logs, key=lambda one: one.stat().st_size)
    expected, asked = records(path), iter(range(1_000_000))
    monkeypatch.setattr(regions, "ready", lambda: next(asked) > 10)
    assert records(path).equals(expected)
    assert next(asked) > 10


def test_rows_of_the_scalar_reader_are_few_batches_of_arrow(
    logs: list[Path], nothing_compiled: None
) -> None:
    path = max(logs, key=lambda one: one.stat().st_size)
    scan = [*RecordScan(path.read_bytes(), redactor=None)]
    assert len(scan) == 1
    assert scan[0].num_rows > 500


def test_a_large_file_is_no_reason_to_wait_and_a_huge_one_is(
    nothing_compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(readiness, "compile_all", lambda: done.append("waited"))
    monkeypatch.setattr(readiness, "_compile_beside", lambda: done.append("beside"))
    assert not segments.is_large(segments.MIN_BYTES)
    assert done == []
    assert not expect(PAYS_BYTES)
    assert done == ["beside"]
    _Readiness.compiling = object()  # type: ignore[assignment]
    assert not expect(WAITS_BYTES - 1)
    assert done == ["beside"], "one process compiles"
    assert segments.is_large(WAITS_BYTES)
    assert done == ["beside", "waited"]
    assert ready()


def test_many_small_files_are_as_much_as_a_large_one(
    nothing_compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(readiness, "_compile_beside", lambda: done.append("beside"))
    for _ in range(64):
        assert done == []
        expect(PAYS_BYTES // 64)
    assert done == ["beside"]


def test_whether_kernels_are_there_is_looked_up_seldom(
    nothing_compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    monkeypatch.setattr(store, "find", looked.append)
    for _ in range(1000):
        assert not ready()
    assert len(looked) == 1
    monkeypatch.setattr(store, "find", lambda name: b"")
    monkeypatch.setattr(_Readiness, "looked_at", time.monotonic() - 2)
    assert ready()


@pytest.fixture
def compiling_beside(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that reads much, with no kernel for its CPU, and lives until its input ends."""
    code = (
        "import sys\n"
        "from replica.scan import readiness\n"
        "readiness.expect(readiness.PAYS_BYTES)\n"
        "print(readiness._Readiness.compiling.pid, readiness.ready(), flush=True)\n"
        "sys.stdin.read()\n"
        "print(readiness._Readiness.compiling.poll(), flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=_ROOT,
        env={"NUMBA_CPU_NAME": "generic", "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def test_the_process_that_compiles_ends_with_the_one_that_started_it(
    compiling_beside: subprocess.Popen[str],
) -> None:
    assert compiling_beside.stdout is not None
    assert compiling_beside.stdin is not None
    pid, is_ready = compiling_beside.stdout.readline().split()
    assert is_ready == "False"
    assert Path(f"/proc/{pid}").exists()
    compiling_beside.stdin.close()
    assert compiling_beside.stdout.readline() == "None\n", "it was still at work"
    assert compiling_beside.wait(60) == 0
    assert not Path(f"/proc/{pid}").exists()
    assert compiling_beside.stderr is not None
    assert compiling_beside.stderr.read() == (
        "compiling the bulk reader for this CPU, once, beside the slower one\n"
    )
