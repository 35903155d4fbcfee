"""`kraftlake recover --plan --rehearse`: the steps of a plan played, and the plan held to it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.conftest import Ended, Kraftlake

SPLIT = "kafka-4.1.1-dynamic/split"
STATIC = "kafka-3.7.2-static/split"
REHEARSE = ("recover", "--plan", "--rehearse", "--seeds", "0:4")


def rehearsed(ended: Ended) -> dict[int, dict[str, Any]]:
    return {row["node_id"]: row["rehearsed"] for row in ended.answers}


@pytest.mark.usefixtures("recorded")
def test_the_steps_of_a_whole_split_lead_to_what_is_planned_for_each_voter_that_may_win(
    kraftlake: Kraftlake,
) -> None:
    ended = kraftlake(*REHEARSE, "--json", SPLIT)
    found = rehearsed(ended)
    assert ended.code == 0
    assert {one["answer"] for one in found.values()} == {"safe"}
    assert found[1]["leads"] + found[3]["leads"] == found[1]["runs"] == 4
    assert (found[12]["as_predicted"], found[1]["as_predicted"]) == (4, 4)
    text = kraftlake(*REHEARSE, SPLIT)
    assert "4 runs: each elects a leader, and loses nothing committed" in text.out
    assert "otherwise than planned" not in text.out, "whichever voter wins"


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("split", [SPLIT, STATIC])
def test_a_lost_voter_is_replaced_by_an_empty_disk_without_loss(
    kraftlake: Kraftlake, split: str
) -> None:
    ended = kraftlake(*REHEARSE, "--json", f"{split}/1", f"{split}/3")
    found = rehearsed(ended)
    assert ended.code == 0
    assert found[1]["leads"] + found[3]["leads"] == 4


@pytest.mark.usefixtures("recorded")
def test_stand_ins_made_of_the_only_log_that_is_left_elect_a_leader(kraftlake: Kraftlake) -> None:
    ended = kraftlake(*REHEARSE, f"{SPLIT}/2")
    assert ended.code == 1, "the plan itself is unproven"
    assert "4 runs: they don't show all that may happen\n  only 1 of 3 voters can" in ended.out
    assert "otherwise" not in ended.out


def test_a_refused_plan_has_nothing_to_play(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    for node in ("1", "2"):
        shutil.copytree(data / SPLIT / node, tmp_path / node)
        for segment in (tmp_path / node).glob("*/*.log"):
            content = bytearray(segment.read_bytes())
            content[len(content) // 2] ^= 0xFF
            segment.write_bytes(content)
    ended = kraftlake(*REHEARSE, tmp_path / "1", tmp_path / "2")
    assert ended.code == 1
    assert (
        "Nothing was rehearsed: no step of this plan starts a replica, so there is nothing to play"
        in ended.out
    )


@pytest.mark.usefixtures("recorded")
def test_seeds_without_a_rehearsal_are_refused(kraftlake: Kraftlake) -> None:
    assert (
        "--seeds goes with --rehearse"
        in kraftlake("recover", "--plan", "--seeds", "0:4", SPLIT).error
    )
