"""`dump --json` by the bulk reader prints exactly what the scalar reader prints."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs import dump_bulk
from jobs.dump import Options, run
from jobs.selection import Selection, select

KEY = "key"
Printed = tuple[int, str, list[str]]
Dump = Callable[[Path, Selection, bool, bool], Printed]

SELECTIONS = {
    "everything": Selection(),
    "offsets": select(offsets=(100, 900)),
    "types": select(types=["PARTITION*", "LEADER_CHANGE"]),
    "epoch": select(epoch=5),
    "times": select(times=("1700000000010", "1795231295000")),
    "nothing": select(epoch=12345),
}


@pytest.fixture
def dump(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Dump:
    key = tmp_path / KEY
    key.write_bytes(b"k" * 32)

    def printed(path: Path, selection: Selection, keep_secrets: bool, bulk: bool) -> Printed:
        monkeypatch.setattr(dump_bulk, "MIN_BYTES", 1 if bulk else 1 << 60)
        options = Options(
            json_output=True,
            keep_secrets=keep_secrets,
            redact_key=None if keep_secrets else str(key),
        )
        capsys.readouterr()
        code = run([str(path)], selection, options)
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
    found = [dump(folder, Selection(), keep_secrets, bulk) for bulk in (True, False)]
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
    found = [dump(copy, Selection(), True, bulk) for bulk in (True, False)]
    assert found[0] == found[1]
    assert found[0][0] == 1
    assert len(found[0][2]) >= 3
