"""Files made to exhaust memory, through the commands: each runs within bounds of memory."""

from __future__ import annotations

import filecmp
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from replica.format.compression import GZIP, NONE, ZSTD, compress
from replica.format.record import Record, encode_records
from replica.message.primitives import write_unsigned_varint
from replica.scan import compiling
from tests.forked import completed
from tests.kraftlake_process import REPOSITORY, WITHIN_S, command_line, may_fork, wanted
from tests.replica.format.encoded import encode_batch

_MIB = 1 << 20
_ADDRESS_SPACE = 1024 * _MIB
_NO_OP = b"\x01\x14\x00\x00"


@pytest.fixture(scope="module", autouse=True)
def _kernels_are_compiled() -> None:
    """The compiler's memory would count as that of the command that finds a kernel missing."""
    compiling.main()


def _varint(number: int) -> bytes:
    out = bytearray()
    write_unsigned_varint(out, number)
    return bytes(out)


def _batch(base: int, values: list[bytes], codec: int) -> bytes:
    records = [Record(base + n, 0, None, value) for n, value in enumerate(values)]
    return encode_batch(
        base_offset=base,
        leader_epoch=1,
        records=compress(codec, encode_records(records, base, 0)),
        record_count=len(values),
        last_offset_delta=len(values) - 1,
        base_timestamp=0,
        max_timestamp=0,
        attributes=codec,
    )


def _with_tags(count: int) -> bytes:
    return b"\x01\x14\x00" + _varint(count) + b"\x09\x00" * count


def _large_zeros() -> bytes:
    """Forty batches of 1 KB that inflate to 40 MiB each."""
    one = _batch(0, [bytes(40 * _MIB)], ZSTD)
    return b"".join(n.to_bytes(8, "big") + one[8:] for n in range(40))


def _many_tags() -> bytes:
    return _batch(0, [_with_tags(10 * _MIB)], ZSTD)


def _tags_within_the_limits() -> bytes:
    """As many bytes as a small batch may inflate to, all of them tagged fields."""
    return _batch(0, [_with_tags(4 * _MIB - 50)], GZIP)


def _replicas() -> bytes:
    head = b"\x01\x03\x00" + bytes(4) + bytes(15) + b"\1"
    count = 7_000_000
    body = _varint(count + 1) + b"\0\0\0\7" * count + _varint(1) * 3 + bytes(13)
    return _batch(0, [head + body], NONE)


def _one_large_batch() -> bytes:
    return _batch(0, [_with_tags(20 * _MIB)], NONE)


_BOMBS = (_large_zeros, _many_tags, _tags_within_the_limits, _replicas, _one_large_batch)


def _limited(*arguments: object) -> subprocess.CompletedProcess[str]:
    most = (_ADDRESS_SPACE, _ADDRESS_SPACE)
    if may_fork():
        limited = replace(wanted(arguments), limits=((resource.RLIMIT_AS, *most),))
        return completed(limited, "", WITHIN_S)
    return subprocess.run(
        command_line(*arguments),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, most),
    )


@pytest.mark.parametrize("bomb", _BOMBS, ids=lambda bomb: bomb.__name__.strip("_"))
def test_a_bomb_is_told_within_a_gibibyte_by_dump_and_check(
    bomb: Callable[[], bytes], tmp_path: Path
) -> None:
    node = tmp_path / "node"
    folder = node / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    raw = bomb()
    count = 40 if bomb is _large_zeros else 1
    (folder / f"{0:020d}.log").write_bytes(raw + _batch(count, [_NO_OP], NONE))
    for arguments in (("dump", "--json"), ("dump",), ("check",)):
        ended = _limited(*arguments, node)
        said = ended.stdout + ended.stderr
        assert ended.returncode == 1, said[-500:]
        assert "Traceback" not in said
        assert "internal error" not in said
        assert "undecodable-record" in said or "record at offset 0" in said
        if arguments[0] == "dump":
            assert "NO_OP_RECORD" in ended.stdout, "what follows is shown"


_LARGE_FILE = """
import os, resource, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss // 1024, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def _with_peak(
    *arguments: object, file_mib: int | None = None
) -> tuple[subprocess.CompletedProcess[str], int]:
    """A command as it ended, and the most MiB of memory that it had."""
    environment = dict(os.environ)
    if file_mib is not None:
        environment["KRAFTLAKE_FILE_MIB"] = str(file_mib)
    ended = subprocess.run(
        [sys.executable, "-c", _LARGE_FILE, *command_line(*arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    return ended, int(ended.stderr.splitlines()[-1])


def _log(folder: Path) -> Path:
    (folder / "__cluster_metadata-0").mkdir(parents=True)
    return folder / "__cluster_metadata-0" / f"{0:020d}.log"


def _grown(path: Path, size: int) -> int:
    """A log of large batches, sound from its first byte to its last; its batches."""
    value = b"\x01\x04\x00\x02\x02a\x02b" + _varint(60_001) + b"v" * 60_000 + b"\x00"
    one = _batch(0, [value] * 10, NONE)
    count = size // len(one)
    with path.open("wb") as file:
        for number in range(count):
            file.write((10 * number).to_bytes(8, "big") + one[8:])
    return count


@pytest.mark.slow
def test_a_large_log_takes_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    path = _log(tmp_path / "node")
    batches = _grown(path, 250 * _MIB)
    shutil.copytree(tmp_path / "node", tmp_path / "other")
    for arguments in (
        ("check", tmp_path / "node"),
        ("dump", "--type", "NO_OP_RECORD", tmp_path / "node"),
        ("dump", "--json", "--type", "NO_OP_RECORD", tmp_path / "node"),
        ("dump", "--batches", tmp_path / "node"),
        ("diff", tmp_path / "node", tmp_path / "other"),
        ("capture", tmp_path / "node", "-o", tmp_path / "capture"),
        ("ingest", "--dry-run", "--as", "c:1", "--lake", tmp_path / "lake", tmp_path / "node"),
    ):
        ended, peak = _with_peak(*arguments)
        said = ended.stdout + ended.stderr
        assert "internal error" not in said
        assert "KRAFTLAKE_FILE_MIB" not in said
        assert peak < 240, arguments
        if "--batches" in arguments:
            assert len(ended.stdout.splitlines()) == batches + 1
    captured = tmp_path / "capture/node/__cluster_metadata-0" / path.name
    assert filecmp.cmp(path, captured, shallow=False)


@pytest.mark.slow
@pytest.mark.parametrize(("batches", "most_mib"), [("large", 420), ("small", 700)])
def test_an_ingest_holds_a_part_of_its_log_at_once(
    tmp_path: Path, batches: str, most_mib: int
) -> None:
    """Libraries and threads take 300 MiB before the first byte."""
    path = _log(tmp_path / "node")
    if batches == "large":
        _grown(path, 120 * _MIB)
    else:
        one = _batch(0, [_NO_OP], NONE)
        path.write_bytes(b"".join(n.to_bytes(8, "big") + one[8:] for n in range(200_000)))
    lake = tmp_path / "lake"
    ended, peak = _with_peak("ingest", "--as", "c:1", "--lake", lake, tmp_path / "node")
    assert ended.returncode == 0, ended.stderr
    assert peak < most_mib


@pytest.mark.slow
def test_zeros_of_a_file_take_no_memory(tmp_path: Path) -> None:
    with _log(tmp_path / "node").open("wb") as file:
        file.write(_batch(0, [_NO_OP], NONE))
        file.truncate(600 * _MIB)
    ended, peak = _with_peak("check", tmp_path / "node")
    assert "internal error" not in ended.stdout + ended.stderr
    assert "  0 to 0  " in ended.stdout
    assert peak < 256


@pytest.mark.slow
def test_a_log_of_more_batches_than_fit_into_the_memory_for_a_file_is_named(
    tmp_path: Path,
) -> None:
    path = _log(tmp_path / "node")
    one = _batch(0, [_NO_OP], NONE)
    path.write_bytes(b"".join(n.to_bytes(8, "big") + one[8:] for n in range(200_000)))
    ended, peak = _with_peak("check", tmp_path / "node", file_mib=64)
    assert ended.returncode == 1
    (line,) = [one for one in ended.stdout.splitlines() if "KRAFTLAKE_FILE_MIB sets" in one]
    assert path.name in line
    assert "more than 64 MiB of memory for one file" in line
    assert peak < 256
    ended, peak = _with_peak("capture", tmp_path / "node", "-o", tmp_path / "capture")
    assert ended.returncode == 0, "a capture holds every file"
    assert peak < 140
    for arguments in (("--json",), (), ("--batches",)):
        ended, peak = _with_peak("dump", *arguments, tmp_path / "node", file_mib=64)
        assert ended.returncode == 0, "of a large file no more than a part is in memory"
        assert len(ended.stdout.splitlines()) == 200_000 + ("--json" not in arguments)
        assert peak < 256


@pytest.mark.slow
def test_a_log_whose_state_does_not_fit_is_not_replayed(tmp_path: Path) -> None:
    def config(number: int) -> bytes:
        name = f"topic-{number}".encode()
        key, value = b"\x0dretention.ms", b"\x021"
        return b"\x01\x04\x00\x02" + _varint(len(name) + 1) + name + key + value + b"\x00"

    path = _log(tmp_path / "node")
    with path.open("wb") as file:
        for base in range(0, 400_000, 1000):
            values = [config(number) for number in range(base, base + 1000)]
            file.write(_batch(base, values, NONE))
    ended, peak = _with_peak("check", tmp_path / "node", file_mib=100)
    assert ended.returncode == 1
    assert "its log was not replayed: more than 100 MiB" in ended.stdout
    assert peak < 400
    ended, _ = _with_peak("check", tmp_path / "node")
    assert "not replayed" not in ended.stdout


def test_random_bytes_of_any_number_are_read(tmp_path: Path) -> None:
    path = _log(tmp_path / "node")
    path.write_bytes(random.Random(1).randbytes(100 * _MIB))
    ended, peak = _with_peak("check", tmp_path / "node", file_mib=64)
    assert ended.returncode == 1
    assert "KRAFTLAKE_FILE_MIB" not in ended.stdout
    assert "framing" in ended.stdout
    assert peak < 256


@pytest.mark.slow
def test_a_batch_of_most_of_a_file_is_not_read_into_memory(tmp_path: Path) -> None:
    """Its CRC is right, its records are too many to be read; what follows it is."""
    path = _log(tmp_path / "node")
    large = _batch(0, [_NO_OP + bytes(150 * _MIB)], NONE)
    path.write_bytes(large + _batch(1, [_NO_OP], NONE))
    del large
    for arguments in (("check",), ("dump",), ("dump", "--json"), ("dump", "--batches")):
        ended, peak = _with_peak(*arguments, tmp_path / "node")
        assert "internal error" not in ended.stdout + ended.stderr
        assert peak < 240, arguments
