"""What a cut archive lost is no fault of the node whose files it holds."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

CUT = "kafka-3.7.2-static/final/3"  # its log begins behind a snapshot
MISSING = {
    "epoch-checkpoint-missing",
    "quorum-state-missing",
    "meta-properties-missing",
    "log-start-without-snapshot",
    "index-without-segment",
}
LAST = ("leader-epoch-checkpoint", "quorum-state", "meta.properties", ".checkpoint", "00519.log")


def bundle_without(source: Path, target: Path, last: str, kept: int = 0) -> Path:
    """A tar of a node that breaks off at the files of this name, which are its last members; kept:
    how many bytes of the last file are there."""
    files = sorted(path for path in source.rglob("*") if path.is_file())
    files.sort(key=lambda path: path.name.endswith(last))
    start = None
    with tarfile.open(target, "w") as tar:
        for path in files:
            if path.name.endswith(last) and (kept or start is None):
                start = tar.offset
            tar.add(path, f"3/{path.relative_to(source)}")
    assert start is not None
    with open(target, "rb+") as file:
        file.truncate(start + (512 + kept if kept else 200))
    return target


@pytest.mark.parametrize("last", LAST)
def test_a_file_that_a_cut_archive_lost_is_not_called_missing(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, last: str
) -> None:
    bundle = bundle_without(recorded / CUT, tmp_path / "node.tar", last)
    ended = kraftlake("check", "--json", bundle)
    rules = [row["rule"] for row in ended.findings]
    assert "bundle" in rules
    assert not MISSING & set(rules)
    assert ended.code == 1
    (member,) = ended.summary["directories"]
    assert member["verdict"] == "no-fault-found"
    assert "The archive is cut off" in kraftlake("check", bundle).lines[0]


@pytest.mark.parametrize("last", ["00000.log", "-0000000006.checkpoint"])
def test_the_file_in_which_an_archive_breaks_off_is_not_called_damaged(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, last: str
) -> None:
    """Also where another segment follows it in the log."""
    node = recorded / "kafka-4.1.1-dynamic/final/1"
    bundle = bundle_without(node, tmp_path / "node.tar", last, kept=5_000)
    ended = kraftlake("check", "--json", bundle)
    rules = {row["rule"] for row in ended.findings}
    assert "bundle" in rules
    assert not {"torn-segment", "offset-gap", "torn-tail"} & rules
    (verdict,) = (row for row in ended.rows if row["kind"] == "verdict")
    assert not any("closed segment" in fact["text"] for fact in verdict["facts"])


@pytest.mark.parametrize("last", LAST)
def test_the_same_files_missing_in_a_directory_are_a_finding(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, last: str
) -> None:
    bundle = bundle_without(recorded / CUT, tmp_path / "node.tar", last)
    with tarfile.open(bundle, "r", ignore_zeros=True) as tar:
        names = []
        for member in iter(tar.next, None):
            names.append(member.name)
            tar.extract(member, tmp_path / "out", filter="data")
    assert names
    rules = [row["rule"] for row in kraftlake("check", "--json", tmp_path / "out").findings]
    assert MISSING & set(rules)


def test_a_lake_takes_the_copy_for_incomplete_too(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path
) -> None:
    last = "leader-epoch-checkpoint"
    bundle = bundle_without(recorded / CUT, tmp_path / "node.tar", last)
    lake = tmp_path / "lake"
    kraftlake("ingest", bundle, "--lake", lake, "--engine", "local")
    asked = kraftlake("sql", "SELECT rule FROM bronze.findings", "--lake", lake, "--json")
    assert asked.code == 0
    assert "missing" not in asked.out


@pytest.mark.parametrize("copy", ["a tar", "its capture", "a capture"])
def test_a_copy_that_breaks_off_does_not_tell_where_its_voter_s_log_ends(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, copy: str
) -> None:
    cut, one, two = (recorded / CUT.replace("final/3", f"final/{node}") for node in (3, 1, 2))
    if copy != "a capture":
        cut = bundle_without(cut, tmp_path / "node.tar", ".log", kept=60_000)
    if copy != "a tar":
        folder = tmp_path / "captured"
        assert kraftlake("capture", cut, one, two, "-o", folder).code == int(copy != "a capture")
        cut, one, two = (folder / f"node-{node}" for node in (3, 1, 2))
    if copy == "a capture":
        (segment,) = cut.rglob("*519.log")
        segment.write_bytes(segment.read_bytes()[:60_000])
    checked = kraftlake("check", "--json", cut, one, two)
    wrong = {"stale-voter", "leader-lacks-own-records", "index-mismatch"}
    assert not wrong & {row["rule"] for row in checked.findings}

    alone = kraftlake("recover", "--plan", "--json", one, cut)
    assert (alone.code, {row["answer"] for row in alone.answers}) == (1, {"unproven"})
    assert {row["node_id"]: row["doubt"] for row in alone.answers} == {1: None, 3: "cut"}
    both = kraftlake("recover", "--plan", one, two, cut)
    assert both.code == 0
    assert "the directories of 2 of 3 voters are here" in both.out
    assert "Only the whole directory of node 3 could show that, and it was not given" in both.out
    assert "breaks off, so nobody knows where its log ends" in both.out

    played = kraftlake("rehearse", "--seeds", "0:2", "--json", one, two, cut).answers[0]
    assert played["answer"] == "unknown"
    assert any("breaks off" in reason and str(cut) in reason for reason in played["reasons"])

    planned = kraftlake("plan", "--stop-broker", "12", "--json", one, two, cut).answers
    assert any("breaks off" in need and str(cut) in need for need in planned[0]["needs"])
    (ground,) = kraftlake("plan", "--stop-broker", "12", "--json", cut).answers
    assert ground["answer"] != "safe"
    assert any("breaks off" in reason["detail"] for reason in ground["reasons"])
