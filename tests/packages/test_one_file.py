"""The core as one file: it runs where it lies, by Python alone, and says what the wheel says."""

from __future__ import annotations

import os
import re
import resource
import runpy
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from replica.format.compression import GZIP, compress
from replica.format.whole_batch import value_batch
from tests.jobs.test_report_of_directories import SECTIONS
from tests.kraftlake_process import kraftlake
from tests.packages.building import REPOSITORY
from tests.replica.format.encoded import encode_batch

pytestmark = pytest.mark.slow
_SCRIPT = REPOSITORY / "packaging" / "one_file.py"


@pytest.fixture(scope="module")
def one_file(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its packages come from the index, with the lock's hashes. In a folder that is only read."""
    folder = tmp_path_factory.mktemp("one_file")
    runpy.run_path(str(_SCRIPT))["write_file"](wheel, folder / "kraftlake.pyz")
    folder.chmod(0o555)
    return folder / "kraftlake.pyz"


def run(
    one_file: Path, *words: str, address_space: int | None = None
) -> subprocess.CompletedProcess[str]:
    """By an interpreter without its site-packages, which may have what the file has not.
    address_space: the most bytes of memory that it may have."""

    def limit() -> None:
        if address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    return subprocess.run(
        [sys.executable, "-I", "-S", one_file, *words],
        cwd=REPOSITORY,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        preexec_fn=limit,
    )


def test_the_one_file_holds_no_compiled_code_and_the_licences_of_its_packages(
    one_file: Path,
) -> None:
    with ZipFile(one_file) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
    packages = {name.split("/")[0] for name in names if ".dist-info/" in name}
    licensed = {name.split("/")[0] for name in names if "LICENSE" in name.upper()}
    assert packages
    assert packages <= licensed


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--json", "tests/data/kafka-3.7.2-static/split"),
        ("dump", "--redact-key", "LICENSE", "tests/data/generated-all-types"),
        ("--help",),
        ("explain", "--runbook", "two-quorums"),
        ("redact", "--help"),
        ("completion", "bash"),
    ],
)
def test_the_one_file_prints_what_the_installed_command_prints(
    one_file: Path, words: tuple[str, ...]
) -> None:
    done, expected = run(one_file, *words), kraftlake(*words)
    assert (done.returncode, done.stderr) == (expected.returncode, expected.stderr)
    assert done.stdout == expected.stdout


def test_a_campaign_runs_in_processes_of_their_own(one_file: Path) -> None:
    words = ("simulate", "--seeds", "0:3", "--events", "20", "--jobs", "2")
    done, expected = run(one_file, *words), kraftlake(*words)
    assert (done.returncode, expected.returncode) == (0, 0)
    # how many events a second it does is another matter in each run
    ours, theirs = (re.sub(r"\d+ events/s", "", one.stdout) for one in (done, expected))
    assert ours == theirs
    assert "3 seeds, 0 broken" in ours


def test_bombs_are_told_within_a_gibibyte_without_compiled_code_too(
    one_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "node/__cluster_metadata-0"
    folder.mkdir(parents=True)
    bombs = [made_bomb(offset) for offset in range(40)]
    last = value_batch(40, 1, 1, [b"\x01\x14\x00\x00"])
    (folder / f"{0:020d}.log").write_bytes(b"".join(bombs) + last)
    for words in (("dump", "--json"), ("check",)):
        done = run(one_file, *words, str(tmp_path / "node"), address_space=1 << 30)
        assert done.returncode == 1
        assert "Traceback" not in done.stdout + done.stderr
        assert "inflates past" in done.stdout + done.stderr


def made_bomb(offset: int) -> bytes:
    """A batch of 40 KB that inflates to 40 MiB, by the one codec that Python has itself."""
    return encode_batch(
        base_offset=offset,
        leader_epoch=1,
        records=compress(GZIP, bytes(40 << 20)),
        record_count=1,
        last_offset_delta=0,
        base_timestamp=0,
        max_timestamp=0,
        attributes=GZIP,
    )


def test_a_command_of_a_lake_says_that_this_file_has_the_core_alone(one_file: Path) -> None:
    done = run(one_file, "demo")
    (line,) = done.stderr.splitlines()
    assert "this file has the core alone: on a machine with a network, " in line
    assert line.endswith("pip install 'kraftlake[lake]'")


def test_a_report_of_directories_is_made_within_ten_seconds(one_file: Path, tmp_path: Path) -> None:
    """By one file that has no library of a lake: with the drawings and all that the logs tell."""
    page, before = tmp_path / "incident.html", os.times()
    done = run(one_file, "report", "-o", str(page), "tests/data/kafka-4.4.0-dynamic/split")
    after = os.times()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, str(page))
    assert "this page is made without a lake" in done.stderr
    text = page.read_text(encoding="utf-8")
    titles = ("Leader epochs in the logs of 5 nodes", "Divergence at offset 944")
    assert all(f">{title}" in text for title in titles)
    assert all(f'id="c1-{name}"' in text for name in SECTIONS)
    assert sum(after[2:4]) - sum(before[2:4]) < 10


def test_the_same_wheel_gives_the_same_file(one_file: Path, wheel: Path, tmp_path: Path) -> None:
    runpy.run_path(str(_SCRIPT))["write_file"](wheel, tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == one_file.read_bytes()
