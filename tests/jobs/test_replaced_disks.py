"""A voter whose node has another disk than the voter's is counted for no majority, by whatever
command, and the verdict says what that leaves."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

OTHER = "aQ8fZ3mXRGuW0p5yJ2kLtg"
TOLD = "has another directory id than the voter, so its votes don't count"


def with_other_disks(data: Path, tmp_path: Path, nodes: Sequence[int]) -> Path:
    """The nodes of a dynamic quorum of which these were formatted anew, and caught up since."""
    folder = tmp_path / "nodes"
    shutil.copytree(data / "kafka-4.1.1-dynamic/final", folder)
    for node in nodes:
        path = folder / str(node) / "meta.properties"
        lines = path.read_text().splitlines()
        changed = [
            f"directory.id={OTHER[:-1]}{node}" if "directory.id=" in one else one for one in lines
        ]
        assert changed != lines
        path.write_text("\n".join(changed) + "\n")
    return folder


@pytest.fixture
def replaced(data: Path, tmp_path: Path) -> Path:
    return with_other_disks(data, tmp_path, (3,))


def test_the_verdict_begins_with_what_the_quorum_can_lose(
    kraftlake: Kraftlake, replaced: Path
) -> None:
    said = kraftlake("check", replaced).lines
    told = (
        "Voter 3 doesn't count with the disk that its node has: the quorum needs each of the other "
        "voters (1 and 2), and stops when one of them stops."
    )
    assert any(line.endswith(told) for line in said[:4]), said[:4]
    assert any("voter-directory-id" in line for line in said)


def test_two_replaced_disks_of_three_elect_no_leader(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    said = kraftlake("what-happened", with_other_disks(data, tmp_path, (2, 3))).lines
    assert said[0].startswith("OUTAGE      ")
    told = "no majority (1 of 3): the quorum elects no leader"
    assert any(told in line for line in said[:10])


@pytest.mark.parametrize("step", [("--stop-broker", "1"), ("--roll",)])
def test_no_step_that_needs_the_voter_is_safe(
    kraftlake: Kraftlake, replaced: Path, step: tuple[str, ...]
) -> None:
    ended = kraftlake("plan", *step, replaced)
    assert ended.code in (1, 3)
    assert not any(line.startswith("SAFE") for line in ended.lines)
    assert "voter 3 can't be counted" in ended.out
    assert TOLD in ended.out


def test_the_voters_left_are_the_others(kraftlake: Kraftlake, replaced: Path) -> None:
    rows = kraftlake("state", "--exposure", "--json", replaced).answers
    assert [row["voters_left"] for row in rows if row["kind"] == "nothing"] == [2]
    left = {row["gone"][0]: row["has_majority"] for row in rows if row["kind"] == "voter"}
    assert left == {"1": False, "2": False}


def test_recover_adds_the_disk_that_is_there_and_formats_none(
    kraftlake: Kraftlake, replaced: Path
) -> None:
    ended = kraftlake("recover", "--plan", replaced)
    assert "remove-controller --controller-id 3" in ended.out
    assert "add-controller" in ended.out
    assert "kafka-storage.sh format" not in ended.out
