"""`dump --json` by the bulk reader prints exactly what the scalar reader prints."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobs.cli.commands.directories import DumpOptions
from jobs.cli.directories.dump import run
from replica.format.batch import CONTROL_ATTRIBUTE, decode_header
from replica.format.control import LeaderChange, encode_control
from replica.format.record import Record, encode_records
from replica.format.segment import scan
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.scan import segments
from tests.bench.segments import batches, record_values
from tests.examples import examples
from tests.replica.format.encoded import encode_batch
from tests.replica.scan.damaging import made_batch, with_right_crc
from tests.replica.scan.readers import only_the_bulk_reader, only_the_scalar_reader

KEY = "key"
Selection = dict[str, Any]
"""Options that select records."""
Printed = tuple[int, str, list[str]]
Dump = Callable[[Path, Selection, bool, bool], Printed]

SELECTIONS: dict[str, Selection] = {
    "everything": {},
    "offsets": {"from_offset": 100, "to_offset": 900},
    "from an offset": {"from_offset": 517},
    "to an offset": {"to_offset": 40},
    "from a time": {"from_time": "1795231205200"},
    "to a time": {"to_time": "1795231293000"},
    "control records": {"types": ["LEADER_CHANGE"]},
    "all of it": {
        "from_offset": 1,
        "to_offset": 200000,
        "epoch": 5,
        "types": ["*"],
        "from_time": "1",
        "to_time": "2795231295000",
    },
    "types": {"types": ["PARTITION*", "LEADER_CHANGE"]},
    "epoch": {"epoch": 5},
    "times": {"from_time": "1700000000010", "to_time": "1795231295000"},
    "nothing": {"epoch": 12345},
}


@pytest.fixture
def dump(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Dump:
    key = tmp_path / KEY
    key.write_bytes(b"k" * 32)

    def printed(path: Path, selection: Selection, keep_secrets: bool, bulk: bool) -> Printed:
        (only_the_bulk_reader if bulk else only_the_scalar_reader)(monkeypatch)
        options = DumpOptions(
            [str(path)],
            json_output=True,
            keep_secrets=keep_secrets,
            redact_key=None if keep_secrets else str(key),
            **selection,
        )
        capsys.readouterr()
        code = run(options)
        said = capsys.readouterr()
        return code, said.out, sorted(said.err.splitlines())

    return printed


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("folder", ["kafka-3.7.2-static/split/2", "kafka-4.1.1-dynamic/split/3"])
def test_both_readers_print_the_same_lines(data: Path, dump: Dump, folder: str, name: str) -> None:
    found = [dump(data / folder, SELECTIONS[name], True, bulk) for bulk in (True, False)]
    assert found[0] == found[1]
    assert found[0][0] == 0
    assert bool(found[0][1]) == (name != "nothing")


@pytest.mark.parametrize("keep_secrets", [True, False])
def test_every_record_type_and_every_secret_is_printed_alike(
    data: Path, dump: Dump, keep_secrets: bool
) -> None:
    folder = data / "generated-all-types"
    found = [dump(folder, {}, keep_secrets, bulk) for bulk in (True, False)]
    assert found[0] == found[1]
    assert ("***:" in found[0][1]) != keep_secrets


def test_damage_is_named_alike_and_the_rest_is_printed(
    data: Path, dump: Dump, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(data / "kafka-3.7.2-static/split/2", tmp_path / "2"))
    log = copy / f"__cluster_metadata-0/{0:020d}.log"
    damaged = bytearray(log.read_bytes())
    damaged[20_000] ^= 1
    damaged[40_000:40_020] = bytes(20)
    log.write_bytes(bytes(damaged[:-11]))
    found = [dump(copy, {}, True, bulk) for bulk in (True, False)]
    assert found[0] == found[1]
    assert found[0][0] == 1
    assert len(found[0][2]) >= 3


_SECRET = encode(
    new_record(
        "CONFIG_RECORD",
        0,
        {"resourceType": 4, "resourceName": "1", "name": "ssl.key.password", "value": "hush"},
    )
)


def _odd_segment(chance: random.Random) -> bytes:
    """Sound batches of values of every type, among them odd ones, control batches between them."""
    values = [b"\x01" + bytes([chance.randrange(30), chance.randrange(4)]) for _ in range(9)]
    values += [b"\x01\x14\x00\x00", b"\x01\x14\x00\x00\x00", b"", b"\x02\x14\x00\x00"]
    values += [b"\x01\x0b\x00\x00", *record_values(12, chance), _SECRET, _SECRET]
    parts, offset = [], 0
    for number in range(4):
        if number % 2:
            records = [Record(0, 5, *encode_control(LeaderChange(0, 1, (), ())))]
            batch = with_right_crc(_control(records))
        else:
            batch = made_batch(chance.sample(values, 8), chance, chance.choice((0, 0, 0, 1)))
        if number == 2 and chance.random() < 0.5:  # frames that break off
            batch = with_right_crc(batch[:61] + bytes([batch[61] ^ 2]) + batch[62:])
        parts.append(struct.pack(">q", offset) + batch[8:])
        offset += decode_header(batch).last_offset_delta + 1
    return b"".join(parts)


def _control(records: list[Record]) -> bytes:
    return encode_batch(
        base_offset=0,
        leader_epoch=7,
        records=encode_records(records, 0, 5),
        record_count=len(records),
        last_offset_delta=len(records) - 1,
        base_timestamp=5,
        max_timestamp=5,
        attributes=CONTROL_ATTRIBUTE,
    )


def _two_times(lines: str, chance: random.Random) -> tuple[str | None, str | None]:
    """Bounds that some of the printed records meet exactly."""
    times = sorted({json.loads(line)["timestamp"] for line in lines.splitlines()})
    start, end = sorted(chance.sample(range(len(times)), 2)) if len(times) > 1 else (0, 0)
    wanted = chance.choice(((0, 0), (0, 1), (1, 0), (1, 1) if end else (0, 0)))
    return (str(times[start]) if wanted[0] else None, str(times[end]) if wanted[1] else None)


_BOUNDS = st.tuples(st.none() | st.integers(-1, 20), st.none() | st.integers(21, 40))
_TYPES = st.sampled_from(((), ("LEADER_CHANGE",), ("PARTITION*", "CONFIG"), ("NO_OP",)))


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1 << 32), _BOUNDS, st.none() | st.integers(0, 8), _TYPES)
@example(3769, (None, None), 1, ())  # damage, and no record of the epoch
def test_selections_of_odd_records_are_printed_alike_by_both_readers(
    dump: Dump,
    tmp_path: Path,
    seed: int,
    offsets: tuple[int | None, int | None],
    epoch: int | None,
    types: tuple[str, ...],
) -> None:
    path = tmp_path / f"{0:020d}.log"
    chance = random.Random(seed)
    path.write_bytes(_odd_segment(chance))
    times = _two_times(dump(path, {}, True, False)[1], chance)
    bounds = ("from_offset", "to_offset", "from_time", "to_time")
    selection = dict(zip(bounds, (*offsets, *times), strict=True), epoch=epoch, types=[*types])
    found = [dump(path, selection, seed % 2 == 0, bulk) for bulk in (True, False)]
    assert found[0] == found[1]
    assert ("hush" in found[0][1]) <= (seed % 2 == 0)


def test_a_name_that_is_no_utf8_passes_through(data: Path, dump: Dump, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b'\xff"\xc3\xa9')
    folder.mkdir()
    log = data / "generated-all-types" / f"{0:020d}.log"
    path = Path(shutil.copy(log, folder / log.name))
    assert dump(path, {}, True, True) == dump(path, {}, True, False)


def test_lines_longer_than_the_output_at_a_time_come_too(
    data: Path, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    from replica.scan import lines

    folder = data / "generated-all-types"
    whole = dump(folder, {}, True, False)
    for size in (1, 700, 5000):
        monkeypatch.setattr(lines, "OUTPUT_BYTES", size)
        assert dump(folder, {}, True, True) == whole


def test_a_gap_between_segments_is_named_alike(data: Path, dump: Dump, tmp_path: Path) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    raw = b"".join(batch for batch, _ in batches(20_000, pool=500))
    (folder / f"{0:020d}.log").write_bytes(raw)
    end = scan(raw).next_offset
    assert end is not None
    (folder / f"{end + 3:020d}.log").write_bytes(b"")
    found = [dump(folder, {}, True, bulk) for bulk in (True, False)]
    assert found[0] == found[1]
    assert f"the one before has end offset {end}" in found[0][2][0]


def test_large_files_are_printed_without_arrow_and_without_pandas(
    data: Path, tmp_path: Path
) -> None:
    path = tmp_path / f"{0:020d}.log"
    raw = b"".join(batch for batch, _ in batches(segments.MIN_BYTES, pool=500))
    path.write_bytes(raw)
    code = (
        "import sys; from jobs.cli.directories.dump import *; "
        "code = run(DumpOptions([sys.argv[1]], json_output=True)); "
        "heavy = {'pyarrow', 'pandas', 'pyspark', 'rich'} & set(sys.modules); "
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count(b"\n") == scan(raw).next_offset
