"""Where there are two histories, no command leads to a start, and each names both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Ended, Kraftlake
from tests.jobs.two_histories import two_histories, with_folders

SIDES = "nodes 1, 2, 4 and 5 against node 3: their logs differ from offset 20 on"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_folders(two_histories(tmp_path_factory.mktemp("two-histories") / "nodes"))


@pytest.mark.parametrize(
    "change",
    [
        ("--roll",), ("--stop-broker", "4"), ("--decommission", "4"), ("--upgrade", "4.2"),
        ("--remove-voter", "3"), ("--to-dynamic",),
    ],
)  # fmt: skip
def test_no_change_is_planned_before_a_history_is_chosen(
    kraftlake: Kraftlake, nodes: Path, change: tuple[str, ...]
) -> None:
    ended = kraftlake("plan", "--json", *change, nodes)
    (answer,) = ended.answers
    assert (ended.code, answer["answer"], answer["needs"], answer["order"]) == (
        3,
        "unknown",
        [],
        [],
    )
    (reason,) = answer["reasons"]
    assert SIDES in reason["detail"]
    (first,) = answer["first"]
    assert first.startswith("start no node and change nothing: `kraftlake recover --plan`")


def test_no_step_of_the_verdict_starts_a_node_and_the_brokers_disks_are_copied(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    ended = kraftlake("check", "--json", nodes)
    (verdict,) = ended.verdicts
    (step,) = verdict["next_steps"]
    assert step.startswith("Start no node, neither a controller nor a broker, before ")
    assert "First copy the whole disks of all nodes, the brokers' too" in step
    assert "Nodes 4 and 5 hold 2 folders *-delete of topic orders, which a started" in step
    assert "(file.delete.delay.ms)" in step
    assert "Nodes 4 and 5 hold 2 folders *-stray of topic fares" in step
    found = [one for one in ended.findings if one["severity"] != "info"]
    assert [one["rule"] for one in found] == ["conflict"] * 5
    assert {one["offset"] for one in found} == {20}, "the first offset at which they differ"


def test_the_exposure_is_that_of_no_history(kraftlake: Kraftlake, nodes: Path) -> None:
    ended = kraftlake("state", "--exposure", nodes)
    assert f"Not judged: there are two histories, {SIDES}. Choose" in ended.lines[1]
    assert "gone" not in ended.out
    in_json = kraftlake("state", "--exposure", "--json", nodes)
    assert in_json.answers == []


def test_recover_and_rehearse_call_neither_history_the_committed_one(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    for asked in (("recover", "--plan"), ("rehearse", "--seeds", "0:2")):
        head = "\n".join(_head(kraftlake(*asked, nodes)))
        assert SIDES in head
        assert "proven" not in head


def _head(ended: Ended) -> list[str]:
    """The verdict and the answer in short."""
    return ended.lines[: ended.lines.index("") + 1]
