"""A voter whose only directory was formatted, and holds no metadata log, is counted for no majority,
by whatever command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.first_start import CLUSTER, format_only, start

HOLDS_NONE = "the directory that was given for its node holds no metadata log"
QUORUMS = ("kafka-3.7.2-static/final", "kafka-4.1.1-dynamic/final")


@pytest.fixture(params=["own", "another"])
def emptied(data: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The nodes of a quorum, static or dynamic, of which voter 3's only disk was formatted: with
    the id of the cluster, or with another one."""
    is_own, quorum = request.param == "own", QUORUMS[request.param == "own"]
    folder = tmp_path / "nodes"
    shutil.copytree(data / quorum, folder)
    shutil.rmtree(folder / "3")
    if is_own:
        (folder / "3").mkdir()
        shutil.copy(data / quorum / "3/meta.properties", folder / "3")
    else:
        format_only(folder / "3", 3, CLUSTER)
    return folder


@pytest.mark.parametrize("step", [("--stop-broker", "1"), ("--roll",)])
def test_no_step_that_needs_a_voter_without_a_log_is_safe(
    kraftlake: Kraftlake, emptied: Path, step: tuple[str, ...]
) -> None:
    ended = kraftlake("plan", *step, emptied)
    assert ended.code == 3
    assert "voter 3 can't be counted" in ended.out
    assert f"voter 3: {HOLDS_NONE}" in ended.out


def test_the_voters_left_are_those_with_a_log(kraftlake: Kraftlake, emptied: Path) -> None:
    rows = kraftlake("state", "--exposure", "--json", emptied).rows
    assert [row["voters_left"] for row in rows if row["kind"] == "nothing"] == [2]
    left = {row["gone"][0]: row["has_majority"] for row in rows if row["kind"] == "voter"}
    assert left == {"1": False, "2": False}


def test_a_voter_that_led_or_voted_and_has_an_empty_disk_has_forgotten(
    kraftlake: Kraftlake, emptied: Path
) -> None:
    ended = kraftlake("check", emptied)
    assert "voter-disk-empty: " in ended.out
    assert f": {HOLDS_NONE}" in ended.out
    assert "voters (node 3), because its directory holds no metadata log" in ended.out
    risks = [line for line in ended.lines if line.startswith(("AT RISK", "also  "))]
    assert any("led or voted in an election" in line for line in risks), ended.out
    assert "runbook     disk-that-forgot" in ended.out


@pytest.mark.parametrize(
    "command",
    [
        ("recover", "--plan"), ("what-happened",), ("rehearse", "--seeds", "0:2", "--failures", "0"),
    ],
)  # fmt: skip
def test_the_directory_was_given_and_holds_no_log(
    kraftlake: Kraftlake, emptied: Path, command: tuple[str, ...]
) -> None:
    ended = kraftlake(*command, emptied)
    assert "holds no metadata log" in ended.out
    assert "its directory was not given" not in ended.out
    assert "not given: the directory" not in ended.out
    first = ended.out.index("look for the disk on which it ran")
    again = ended.out.find("format an empty folder")
    assert again == -1 or first < again


def test_a_quorum_of_which_all_directories_were_given_lacks_none(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    for node in (2, 3):
        start(tmp_path / str(node), node)
    format_only(tmp_path / "1", 1)
    ended = kraftlake("what-happened", tmp_path)
    assert "no voter was ever elected" in ended.out
    assert "Add the directories of all voters" not in ended.out
    assert "voter-disk-empty" not in kraftlake("check", tmp_path).out
