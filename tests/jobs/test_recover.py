"""`kraftlake recover --plan`: on the recorded split, and on what is left after disks are lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

SPLIT = "kafka-4.1.1-dynamic/split"
STATIC = "kafka-3.7.2-static/split"
FIELDS = [
    "kind",
    "rank",
    "directory",
    "cluster_id",
    "node_id",
    "directory_id",
    "is_voter",
    "last_epoch",
    "log_end_offset",
    "relation",
    "at_risk",
    "committed_lost",
    "unproven_lost",
    "superseded_lost",
    "answer",
    "has_majority",
    "missing",
    "reasons",
    "partition",
    "wins_election",
    "truncates_to",
    "on_no_voter",
    "may_win",
    "may_lose",
    "doubt",
    "needs",
]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("scenario", "parted"), [(SPLIT, 1526), (STATIC, 750)])
def test_the_whole_split_goes_on_with_the_newest_epoch(
    kraftlake: Kraftlake, scenario: str, parted: int
) -> None:
    ended = kraftlake("recover", "--plan", "--json", scenario)
    assert ended.code == 0
    assert [row["rank"] for row in ended.answers] == [1, 2, 3, 4, 5]
    assert {row["node_id"] for row in ended.answers[:3]} == {1, 3, 12}
    assert {row["node_id"] for row in ended.answers[3:]} == {2, 11}
    for row in ended.answers:
        assert list(row) == FIELDS
        assert (row["answer"], row["has_majority"], row["missing"]) == ("safe", True, [])
        ghost = row["node_id"] in (2, 11)
        assert row["at_risk"] == ([[parted, parted + 22]] if ghost else [])
        assert row["committed_lost"] == 0
        assert row["may_win"] == (row["node_id"] in (1, 3))
        assert (row["wins_election"], row["may_lose"], row["doubt"]) == (False, [], None)


@pytest.mark.usefixtures("recorded")
def test_one_voter_alone_is_told_what_it_cannot_know_and_how_others_stand_in(
    kraftlake: Kraftlake,
) -> None:
    ended = kraftlake("recover", "--plan", f"{SPLIT}/2")
    assert ended.code == 1
    assert ended.answer_lines[0] == "cluster Lr3UIdBxT-GFPYE5uprmrg: committed records may be lost"
    assert "only 1 of 3 voters can be relied on" in ended.answer_lines[1]
    assert "node.id=1 directory.id=w1rJ2UULXXXZu6RS0Vk1kg > stand-in-1/meta.prop" in ended.out
    assert "node.id=3 directory.id=YabyXINkS7WFoc_9PzSg0w > stand-in-3/meta.prop" in ended.out


@pytest.mark.usefixtures("recorded")
def test_without_a_majority_the_log_of_an_observer_that_is_further_on_comes_first(
    kraftlake: Kraftlake,
) -> None:
    ended = kraftlake("recover", "--plan", "--json", f"{SPLIT}/2", f"{SPLIT}/12")
    first, second = ended.answers
    assert ended.code == 1
    assert (first["node_id"], first["is_voter"], second["node_id"]) == (12, False, 2)
    assert (first["answer"], first["on_no_voter"]) == ("unproven", [[1526, 2712]])
    assert [row["wins_election"] for row in ended.answers] == [False, False]
    assert (first["truncates_to"], second["truncates_to"]) == (None, 1526)


def test_a_damaged_log_is_named_and_not_relied_on(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    for node in ("1", "2"):
        shutil.copytree(data / SPLIT / node, tmp_path / node)
    segment = min((tmp_path / "1").glob("*/*.log"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    ended = kraftlake("recover", "--plan", "--json", tmp_path / "1", tmp_path / "2")
    assert ended.code == 1
    assert str(segment) in ended.err
    assert [row["node_id"] for row in ended.answers] == [2, 1]
    assert ended.answers[0]["has_majority"] is False


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((SPLIT,), "recover: --plan is missing"),
        (("--plan", "kafka-3.7.2-static"), "captures of the same replica (node 1): name only what"),
        (("--plan", "MANIFEST.md"), "MANIFEST.md: no node's directory; name those that are left"),
        (("--plan", "nowhere"), "nowhere"),
    ],
)
def test_directories_without_a_plan_are_a_usage_error(
    kraftlake: Kraftlake, arguments: tuple[str, ...], said: str
) -> None:
    ended = kraftlake("recover", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err.splitlines()[-1]


def test_clusters_are_planned_one_by_one(kraftlake: Kraftlake, data: Path) -> None:
    ended = kraftlake("recover", "--plan", "--json", data / SPLIT / "1", data / STATIC)
    assert {row["cluster_id"] for row in ended.answers} == {
        "Lr3UIdBxT-GFPYE5uprmrg",
        "gT_wj4dEReaNt2vnLWy9Aw",
    }
    assert ended.code == 1, "one of 1, 2, 3 alone is no majority of the first"
