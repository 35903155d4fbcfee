"""A voter whose only directory was formatted, and holds no metadata log, is counted for no
majority, by whatever command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from replica.format.file_names import METADATA_FOLDER
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
    assert ended.code in (1, 3)
    assert not any(line.startswith("SAFE") for line in ended.lines)
    assert "voter 3 can't be counted" in ended.out
    of_the_plan = [line for line in ended.lines if line.startswith(("  unknown ", "  note "))]
    assert any(HOLDS_NONE in line for line in of_the_plan)


def test_the_voters_left_are_those_with_a_log(kraftlake: Kraftlake, emptied: Path) -> None:
    rows = kraftlake("state", "--exposure", "--json", emptied).answers
    assert [row["voters_left"] for row in rows if row["kind"] == "nothing"] == [2]
    left = {row["gone"][0]: row["has_majority"] for row in rows if row["kind"] == "voter"}
    assert left == {"1": False, "2": False}


@pytest.mark.parametrize("emptied", ["own"], indirect=True)
def test_an_emptied_folder_of_a_log_is_told_as_one_that_is_gone(
    kraftlake: Kraftlake, emptied: Path
) -> None:
    """Who reads of a disk that was restored looks for a backup, and nobody made one."""
    (emptied / "3" / METADATA_FOLDER).mkdir()
    ended = kraftlake("check", emptied)
    assert "voter-disk-empty: " in ended.out
    assert "stale-voter" not in ended.out
    (said,) = (line for line in ended.lines[:3] if "its disk was emptied" in line)
    assert "and its metadata log is empty; it lacks offsets 0 to " in said
    assert "Keep the node stopped, and look for the disk on which it ran." in ended.out


def test_a_voter_that_led_or_voted_and_has_an_empty_disk_has_forgotten(
    kraftlake: Kraftlake, emptied: Path
) -> None:
    ended = kraftlake("check", emptied)
    assert "voter-disk-empty: " in ended.out
    assert f": {HOLDS_NONE}" in ended.out
    assert "voters (node 3), because its directory holds no metadata log" in ended.out
    (said,) = (line for line in ended.lines[:3] if "its disk was emptied" in line)
    assert said.startswith(("AT RISK  ", "first  ")), ended.out
    assert "Node 3: its disk was emptied, or is not the one on which it ran: voter 3 led" in said
    assert "runbook     disk-that-forgot" in ended.out


def test_the_directory_was_given_and_holds_no_log(kraftlake: Kraftlake, emptied: Path) -> None:
    for command in (("recover", "--plan"), ("rehearse", "--seeds", "0:2", "--failures", "0")):
        ended = kraftlake(*command, emptied)
        assert "no metadata log" in ended.out, command
        assert "its directory was not given" not in ended.out, command
    told = kraftlake("what-happened", emptied).out
    assert "not given: the directory" not in told
    first, again = told.index("look for the disk on which it ran"), told.index("an empty folder")
    assert first < again


def test_a_voter_that_never_ran_has_forgotten_nothing(kraftlake: Kraftlake, tmp_path: Path) -> None:
    for node in (2, 3):
        start(tmp_path / str(node), node)
    format_only(tmp_path / "1", 1)
    assert "voter-disk-empty" not in kraftlake("check", tmp_path).out
