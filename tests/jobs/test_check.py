"""`kraftlake check`: exit codes, both forms of output, groups, bundles, bad input."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY

FIELDS = ["rule", "family", "severity", "file", "position", "offset", "epoch", "message"]
DYNAMIC, STATIC = "kafka-4.1.1-dynamic", "kafka-3.7.2-static"
CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"
CHECKPOINT = "__cluster_metadata-0/leader-epoch-checkpoint"


@pytest.fixture
def node(data: Path, tmp_path: Path) -> Path:
    """A copy of a recorded node that may be damaged."""
    return Path(shutil.copytree(data / DYNAMIC / "final/3", tmp_path / "node"))


@pytest.mark.usefixtures("recorded")
def test_a_sound_cluster_ends_with_0_and_says_so(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", f"{DYNAMIC}/final")
    assert ended.code == 0
    assert ended.complaints == []
    verdicts = [line for line in ended.lines if not line.startswith(" ")]
    assert verdicts[0] == (
        f"{DYNAMIC}/final/1/__cluster_metadata-0: sound (cluster {CLUSTER}, node 1, voter, "
        "log 0 to 3672, epoch 6, snapshots: 1 valid)"
    )
    assert len(verdicts) == 5 + 1 + 1
    assert verdicts[-1] == "5 directories or files checked: 0 errors, 0 warnings, 4 notes"


@pytest.mark.usefixtures("recorded")
def test_a_split_ends_with_1_and_the_divergences(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--json", "--severity", "warning", f"{DYNAMIC}/split")
    assert ended.code == 1
    about_files = [row for row in ended.findings if row["family"] == "files"]
    assert [list(row) for row in about_files] == [FIELDS] * 2
    first = about_files[0]
    assert (first["rule"], first["severity"]) == ("log-divergence", "warning")
    name = "00000000000000001262.log"
    assert first["file"] == f"{DYNAMIC}/split/11/__cluster_metadata-0/{name}"
    assert (first["position"], first["offset"], first["epoch"]) == (21113, 1526, 5)
    assert first["message"].startswith("parts from node 1, node 3, node 12 at offset 1526: ")


def test_damage_is_told_with_file_byte_meaning_and_next_step(
    kraftlake: Kraftlake, node: Path
) -> None:
    path = node / CHECKPOINT
    path.write_text(path.read_text().replace("3 751", "3 760"))
    ended = kraftlake("check", node)
    assert ended.code == 1
    start = f"{node}/__cluster_metadata-0: 1 error (cluster {CLUSTER}, node 3, voter, "
    assert ended.lines[0].startswith(start)
    told = next(i for i, line in enumerate(ended.lines) if "epoch-checkpoint-mismatch" in line)
    assert ended.lines[told].startswith("  error    epoch-checkpoint-mismatch: leader-epoch-")
    assert ended.lines[told + 1].strip() == (
        "leader-epoch-checkpoint, byte 14, offset 760: "
        "epoch 3 from offset 760; by the log it starts at 751"
    )
    assert ended.lines[told + 2].strip().startswith("Kafka: ")
    assert ended.lines[told + 3].strip().startswith("Next:  ")
    assert ended.lines[-1] == "1 directory or file checked: 1 error, 0 warnings, 1 note"
    about_files = ("--json", "--severity", "error", "--family", "files")
    (row,) = kraftlake("check", *about_files, node).findings
    assert row["file"] == f"{node}/{CHECKPOINT}"


def test_many_places_of_a_rule_are_counted_not_listed(kraftlake: Kraftlake, node: Path) -> None:
    path = node / "__cluster_metadata-0/00000000000000000000.log"
    raw = bytearray(path.read_bytes())
    for position in range(20_000, 90_000, 3500):
        raw[position] ^= 0xFF
    path.write_bytes(raw)
    ended = kraftlake("check", node)
    assert any("more; --json lists all" in line for line in ended.lines)
    assert len(kraftlake("check", "--json", node).findings) > 12


@pytest.mark.usefixtures("recorded")
def test_captures_of_one_replica_need_their_order(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", DYNAMIC)
    assert ended.code == 2
    assert "captures of the same replica (node 1)" in ended.error
    assert "--order final,live" in ended.error


@pytest.mark.usefixtures("recorded")
def test_captures_in_order_are_checked_one_group_at_a_time(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--order", "live,split,final", "--severity", "warning", DYNAMIC)
    assert ended.code == 1
    shown = [line.split("/")[1] for line in ended.lines if line.startswith(DYNAMIC)]
    assert shown == ["live"] * 4 + ["split"] * 5 + ["final"] * 5
    assert sum("log-divergence" in line for line in ended.lines) == 1
    assert kraftlake("check", "--order", "live,nowhere", f"{DYNAMIC}/live").code == 2


def test_two_directories_of_one_replica_in_one_capture_are_told(
    kraftlake: Kraftlake, node: Path
) -> None:
    shutil.copytree(node, node.parent / "twin")
    text = json.dumps({"version": 1, "captured_at": "2026-11-21T05:00:00Z"})
    (node.parent / "capture.json").write_text(text)
    about_files = ("--json", "--severity", "error", "--family", "files")
    ended = kraftlake("check", *about_files, node.parent)
    assert ended.code == 1
    assert {row["rule"] for row in ended.findings} == {"duplicate-identity"}


def test_a_bundle_is_checked_and_a_cut_one_is_named(kraftlake: Kraftlake, node: Path) -> None:
    bundle = node.parent / "node.tar.gz"
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(node, "node")
    ended = kraftlake("check", bundle)
    assert ended.code == 0
    start = f"{bundle}/node/__cluster_metadata-0: sound (cluster {CLUSTER}, node 3, "
    assert ended.lines[0].startswith(start)
    bundle.write_bytes(bundle.read_bytes()[:-4000])
    ended = kraftlake("check", "--json", bundle)
    assert ended.code == 1
    assert "bundle" in {row["rule"] for row in ended.findings}


def test_files_on_their_own_are_checked(kraftlake: Kraftlake, node: Path) -> None:
    log = node / "__cluster_metadata-0/00000000000000001262.log"
    ended = kraftlake("check", log, node / CHECKPOINT)
    assert ended.code == 0
    assert ended.lines[0] == (
        f"{log}: no fault found in this file alone (log 1262 to 2722, epoch 6)"
    )
    notes = node / "notes.txt"
    notes.write_text("hello")
    (row,) = kraftlake("check", "--json", notes).findings
    assert (row["rule"], row["file"]) == ("not-kafka", str(notes))


def test_bad_input_gives_one_line(kraftlake: Kraftlake, tmp_path: Path) -> None:
    assert "no such file" in kraftlake("check", tmp_path / "nothing").error
    assert "no metadata directory below it" in kraftlake("check", tmp_path).error
    ended = kraftlake("check", "--severity", "fatal", tmp_path)
    assert (ended.code, ended.error) == (
        2,
        "--severity fatal: expected note (or info), warning or error",
    )
    ended = kraftlake("check", "--fail-on", "never", tmp_path)
    assert ended.error == "--fail-on never: expected note (or info), warning or error"


@pytest.mark.usefixtures("recorded")
def test_without_a_replay_snapshots_stay_unverified(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--no-replay", f"{DYNAMIC}/final/3")
    assert ended.code == 0
    assert "snapshots: 1 valid, 1 unverifiable" in ended.lines[0]
    assert ": no fault found (" in ended.lines[0], "nobody compared one of the snapshots"


def test_nothing_is_changed_by_a_check(kraftlake: Kraftlake, node: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in [node, *node.rglob("*")]}
    assert kraftlake("check", node).code == 0
    assert {path: path.stat().st_mtime_ns for path in [node, *node.rglob("*")]} == before


def test_the_check_of_small_directories_loads_no_kernels() -> None:
    code = (
        "import sys; from jobs.cli.main import app; from jobs.cli.outcome import run; "
        f"run(app, ['check', 'tests/data/{DYNAMIC}/live/2']); "
        "sys.exit('numba' in sys.modules or 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True)
    assert done.returncode == 0, done.stderr
