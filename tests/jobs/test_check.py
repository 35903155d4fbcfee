"""`kraftlake check`: exit codes, both forms of output, groups, bundles, bad input."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY

FIELDS = ["kind", "rule", "family", "severity", "file", "position", "offset", "epoch", "message"]
DYNAMIC, STATIC, NEW = "kafka-4.1.1-dynamic", "kafka-3.7.2-static", "kafka-4.4.0-dynamic"
CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"
CHECKPOINT = "__cluster_metadata-0/leader-epoch-checkpoint"


@pytest.fixture
def node(data: Path, tmp_path: Path) -> Path:
    """A copy of a recorded node that may be damaged."""
    return Path(shutil.copytree(data / DYNAMIC / "final/3", tmp_path / "node"))


@pytest.mark.usefixtures("recorded")
def test_a_healthy_cluster_ends_with_0_and_fits_a_screen(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", f"{NEW}/final")
    assert ended.code == 0
    assert ended.complaints == []
    assert ended.lines[:2] == [
        "HEALTHY     No fault found: the files of all 5 nodes given are in order, their logs "
        "agree and all 624 partitions have a leader.",
        "as of       2026-11-23 05:24:29 UTC, offset 2664 of node 1",
    ]
    assert len(ended.lines) <= 24
    assert ended.lines[-1] == (
        "5 directories or files checked: 0 errors, 0 warnings, 7 notes (not shown: notes)"
    )


@pytest.mark.usefixtures("recorded")
def test_the_nodes_are_a_table_in_the_order_of_their_numbers(kraftlake: Kraftlake) -> None:
    lines = kraftlake("check", f"{DYNAMIC}/final").lines
    head = next(number for number, line in enumerate(lines) if line.startswith("node  role"))
    rows = [line.split() for line in lines[head + 2 : head + 7]]
    assert [(row[0], row[1]) for row in rows] == [
        ("1", "voter"), ("2", "voter"), ("3", "voter"), ("11", "observer"), ("12", "observer"),
    ]  # fmt: skip
    assert " ".join(rows[0]) == (
        f"1 voter 0 to 3671 2 records, 1.0 s 6 1 valid ok {DYNAMIC}/final/1/__cluster_metadata-0"
    )
    assert lines[head + 7] == ""


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("capture", [f"{DYNAMIC}/split", f"{DYNAMIC}/final", f"{STATIC}/split"])
def test_the_first_ten_lines_say_what_is_wrong_since_when_and_what_to_do(
    kraftlake: Kraftlake, capture: str
) -> None:
    ended = kraftlake("check", capture)
    assert ended.code == 1
    head = ended.lines[: ended.lines.index("")]
    assert len(head) <= 10
    assert re.match(r"OUTAGE      \d+ of \d+ partitions \(.* have had no leader since 20", head[0])
    assert head[1].startswith("  next      Start broker")
    assert head[-1].startswith("cluster     ")


@pytest.mark.usefixtures("recorded")
def test_quiet_is_one_line_and_verbose_lists_the_notes(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "-q", f"{NEW}/final")
    assert (ended.code, len(ended.lines)) == (0, 1)
    assert ended.lines[0].startswith("HEALTHY     ")
    assert not any(line.startswith("note") for line in kraftlake("check", f"{NEW}/final").lines)
    told = kraftlake("check", "-v", f"{NEW}/final").lines
    assert any(line.startswith("note     leftover: ") for line in told)


@pytest.mark.usefixtures("recorded")
def test_the_verdict_is_the_same_in_json(kraftlake: Kraftlake) -> None:
    (verdict,) = kraftlake("check", "--json", f"{DYNAMIC}/split").verdicts
    assert list(verdict) == [
        "kind", "cluster_id", "level", "headline", "facts", "next_steps", "runbook", "not_judged",
        "notes", "end_offset", "at", "source",
    ]  # fmt: skip
    assert (verdict["cluster_id"], verdict["level"]) == (CLUSTER, "outage")
    assert [fact["rules"] for fact in verdict["facts"]] == [
        ["partition-without-leader", "replica-on-fenced-broker"], ["voter-behind"],
        ["log-divergence"],
    ]  # fmt: skip
    line = kraftlake("check", "-q", f"{DYNAMIC}/split").lines[0]
    assert line == f"OUTAGE      {verdict['headline']}"


@pytest.mark.usefixtures("recorded")
def test_a_split_ends_with_1_and_the_divergences(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--json", "--severity", "warning", f"{DYNAMIC}/split")
    assert ended.code == 1
    about_files = [row for row in ended.findings if row["family"] == "files"]
    assert [list(row) for row in about_files] == [FIELDS] * 3
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
    table = next(line for line in ended.lines if line.endswith(f"{node}/__cluster_metadata-0"))
    assert table.split()[:2] == ["3", "voter"]
    assert " 1 error " in table
    told = next(i for i, line in enumerate(ended.lines) if "epoch-checkpoint-mismatch" in line)
    assert ended.lines[told].startswith("error    epoch-checkpoint-mismatch: leader-epoch-")
    assert ended.lines[told + 1].strip() == (
        "node 3, leader-epoch-checkpoint, byte 14, offset 760: "
        "epoch 3 from offset 760; by the log it starts at 751"
    )
    assert ended.lines[told + 2].strip().startswith("Kafka: ")
    assert ended.lines[told + 3].strip().startswith("Next:  ")
    counted = kraftlake("check", "--family", "files", node).lines[-1]
    assert counted == (
        "1 directory or file checked: 1 error, 0 warnings, 1 note (not shown: notes)"
    )
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
    assert any("or --json lists all" in line for line in ended.lines)
    assert len(kraftlake("check", "--json", node).findings) > 12


@pytest.mark.usefixtures("recorded")
def test_captures_of_one_replica_need_their_order(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", DYNAMIC)
    assert ended.code == 2
    assert "captures of the same replica (node 1)" in ended.error
    assert "nothing says which is older: --order OLDEST,...,NEWEST" in ended.error
    assert "(as final and live are)" in ended.error


@pytest.mark.usefixtures("recorded")
def test_captures_in_order_are_checked_one_group_at_a_time(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--order", "live,split,final", "--severity", "warning", DYNAMIC)
    assert ended.code == 1
    tables = [line for line in ended.lines if line.endswith("/__cluster_metadata-0")]
    shown = [line.rsplit("/", 3)[1] for line in tables]
    assert shown == ["final"] * 5 + ["split"] * 5 + ["live"] * 4
    assert sum("log-divergence" in line for line in ended.lines) == 1
    assert kraftlake("check", "--order", "live,nowhere", f"{DYNAMIC}/live").code == 2


@pytest.mark.usefixtures("recorded")
def test_of_several_captures_the_verdict_on_the_newest_comes_first(kraftlake: Kraftlake) -> None:
    lines = kraftlake("check", "-q", "--order", "live,split,final", NEW).lines
    assert [line.split()[0] for line in lines] == ["HEALTHY", "OUTAGE", "HEALTHY"]
    assert [line[line.rindex("(") :] for line in lines] == [
        "(capture 3 of 3, the newest)", "(capture 2 of 3)", "(capture 1 of 3)",
    ]  # fmt: skip


@pytest.mark.usefixtures("recorded")
def test_a_node_that_the_comparison_finds_fault_with_is_not_ok_in_the_table(
    kraftlake: Kraftlake,
) -> None:
    lines = kraftlake("check", f"{NEW}/split").lines
    results = {line.split()[0]: line for line in lines if line.endswith("__cluster_metadata-0")}
    assert ("  2 warnings  " in results["2"], "  1 warning  " in results["11"]) == (True, True)
    assert [node for node, line in results.items() if "  ok  " in line] == ["1", "3", "12"]


@pytest.mark.usefixtures("recorded")
def test_of_several_clusters_the_worst_comes_first_and_what_happened_has_the_same_verdicts(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    mixed = tmp_path / "mixed"
    for cluster, node in ((DYNAMIC, 1), (DYNAMIC, 2), (NEW, 3)):
        shutil.copytree(f"{cluster}/final/{node}", mixed / str(node))
    checked, happened = (
        kraftlake(command, "--json", mixed).verdicts for command in ("check", "what-happened")
    )
    assert [row["level"] for row in checked] == ["outage", "at-risk"]
    assert happened == checked


def test_two_directories_of_one_replica_in_one_capture_are_told(
    kraftlake: Kraftlake, node: Path
) -> None:
    shutil.copytree(node, node.parent / "twin")
    text = json.dumps({"version": 1, "captured_at": "2026-11-21T05:00:00Z"})
    (node.parent / "capture.json").write_text(text)
    about_files = ("--json", "--severity", "error", "--family", "files")
    ended = kraftlake("check", *about_files, node.parent)
    assert ended.code == 1
    assert {row["rule"] for row in ended.findings} == {"metadata-log-twice"}


def test_a_bundle_is_checked_and_a_cut_one_is_named(kraftlake: Kraftlake, node: Path) -> None:
    bundle = node.parent / "node.tar.gz"
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(node, "node")
    ended = kraftlake("check", "--family", "files", bundle)
    assert ended.code == 0
    assert any(
        line.endswith(f" ok      {bundle}/node/__cluster_metadata-0") for line in ended.lines
    )
    bundle.write_bytes(bundle.read_bytes()[:-4000])
    ended = kraftlake("check", "--json", bundle)
    assert ended.code == 1
    assert "bundle" in {row["rule"] for row in ended.findings}


def test_files_on_their_own_are_checked(kraftlake: Kraftlake, node: Path) -> None:
    log = node / "__cluster_metadata-0/00000000000000001262.log"
    ended = kraftlake("check", log, node / CHECKPOINT)
    assert ended.code == 0
    assert ended.lines[0].startswith("INCOMPLETE  No fault found in what was given. Not judged: ")
    (row,) = [line for line in ended.lines if line.endswith(f" {log}")]
    assert row.split()[2:9] == ["1262", "to", "2721", "-", "6", "-", "no"]
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
    assert ended.lines[0].startswith("INCOMPLETE  ")
    (row,) = [line for line in ended.lines if line.endswith("final/3/__cluster_metadata-0")]
    assert "1 valid and 1 unverifiable  no fault found" in row


def test_nothing_is_changed_by_a_check(kraftlake: Kraftlake, node: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in [node, *node.rglob("*")]}
    assert kraftlake("check", "--family", "files", node).code == 0
    assert {path: path.stat().st_mtime_ns for path in [node, *node.rglob("*")]} == before


def test_the_check_of_small_directories_loads_no_kernels() -> None:
    code = (
        "import sys; from jobs.cli.main import app; from jobs.cli.outcome import run; "
        f"run(app, ['check', 'tests/data/{DYNAMIC}/live/2']); "
        "sys.exit('numba' in sys.modules or 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_an_empty_folder_does_not_end_the_judgement_of_others(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    empty = tmp_path / "new-disk"
    empty.mkdir()
    node = data / "kafka-4.4.0-dynamic/final/1"
    ended = kraftlake("check", "--json", node, empty)
    assert ended.code == 1
    (found,) = (row for row in ended.findings if row["rule"] == "not-kafka")
    assert found["file"] == str(empty)
    assert "an empty disk, or not the folder that was meant" in found["message"]
    for command in (("what-happened",), ("recover", "--plan"), ("timeline",)):
        told = kraftlake(*command, node, empty)
        assert str(empty) in told.out + told.err
        assert "1" in told.out
    alone = kraftlake("check", empty)
    assert (alone.code, "no metadata directory below it" in alone.err) == (2, True)
    mistyped = kraftlake("check", node, tmp_path / "nowhere")
    assert (mistyped.code, "no such file or directory" in mistyped.err) == (2, True)
