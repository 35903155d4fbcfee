"""`rehearse` names the start that it plays, and plays the one that `recover --plan` recommends."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.jobs.conftest import Ended, Kraftlake
from tests.replica.doctor.check.editing import batches

DYNAMIC = "kafka-4.1.1-dynamic"
FEW = ("--seeds", "0:4", "--failures", "0")
Damage = Callable[[Path, Path], None]


def restored(data: Path, node: Path) -> None:
    shutil.rmtree(node)
    shutil.copytree(data / DYNAMIC / "live/3", node)


def without_quorum_state(_: Path, node: Path) -> None:
    (node / "__cluster_metadata-0/quorum-state").unlink()


def damaged(_: Path, node: Path) -> None:
    path = max(node.glob("__cluster_metadata-0/*.log"))
    raw = bytearray(path.read_bytes())
    raw[batches(path)[0].position + 70] ^= 1
    path.write_bytes(raw)


def whole(_: Path, __: Path) -> None:
    pass


@pytest.fixture
def nodes(data: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The three voters, of which something befell node 3."""
    for node in ("1", "2", "3"):
        shutil.copytree(data / DYNAMIC / "final" / node, tmp_path / "now" / node)
    request.param(data, tmp_path / "now/3")
    return tmp_path / "now"


def rows(ended: Ended, kind: str) -> list[dict]:  # type: ignore[type-arg]
    return [row for row in ended.rows if row["kind"] == kind]


@pytest.mark.parametrize("nodes", [restored, without_quorum_state, damaged], indirect=True)
def test_the_start_that_recover_recommends_is_played_too(kraftlake: Kraftlake, nodes: Path) -> None:
    ended = kraftlake("rehearse", *FEW, "--json", nodes)
    (asked,), (recommended,) = rows(ended, "answer"), rows(ended, "recommended_answer")
    assert (asked["start"], asked["answer"]) == ([1, 2, 3], "unknown")
    assert ended.code == 3, "the answer is that about the start of all nodes"
    assert recommended["start"] == [1, 2]
    planned = kraftlake("recover", "--plan", "--json", nodes)
    winners = {row["node_id"] for row in rows(planned, "replica") if row["may_win"]}
    leaders = {one["node_id"] for one in recommended["leaders"]}
    assert leaders == winners == {2}
    assert rows(ended, "recommended_outcome")
    told = kraftlake("rehearse", *FEW, nodes).out
    assert told.splitlines()[1].endswith(
        " `recover --plan` recommends another start (nodes 1 and 2; node 3 stays stopped): "
        f"{recommended['answer']}{', if its needs hold' * recommended['is_conditional']}."
    )
    assert "  start: nodes 1, 2 and 3\n" in told
    assert "  start: nodes 1 and 2; node 3 stays stopped\n" in told
    said = kraftlake("recover", "--plan", nodes).out
    assert "node 2 wins the election while node 3 stays stopped" in said


@pytest.mark.parametrize("nodes", [whole], indirect=True)
def test_where_recover_starts_all_nodes_there_is_one_start(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    ended = kraftlake("rehearse", *FEW, nodes)
    assert ended.code == 4
    assert ended.out.count("  start: ") == 1
    assert "stopped" not in kraftlake("recover", "--plan", nodes).out.partition("needs:")[0]


@pytest.mark.parametrize("nodes", [restored], indirect=True)
def test_a_scenario_file_says_which_nodes_start(
    kraftlake: Kraftlake, nodes: Path, tmp_path: Path
) -> None:
    script = tmp_path / "dead.toml"
    script.write_text("[[step]]\ndead = [3]\n")
    told = kraftlake("rehearse", *FEW, "--scenario", script, nodes).out
    assert f"  start: as {script} says\n" in told
    assert told.count("  start: ") == 1


def test_what_voters_that_were_not_given_may_hold_is_no_sure_loss(
    kraftlake: Kraftlake, data: Path
) -> None:
    asked = ("rehearse", "--seeds", "0:1", "--failures", "1", data / DYNAMIC / "final/1")
    rows = {row["kind"]: row for row in kraftlake(*asked, "--json").rows}
    assert rows["answer"]["is_conditional"] is False, "the answer is unknown"
    assert rows["answer"]["needs"][0] == (
        "voters 2 and 3 have to hold nothing newer: their logs were not given, and the whole logs "
        "of 1 of 3 voters are no majority"
    )
    assert rows["outcome"]["away"] == rows["smallest_loss"]["away"] == [2, 3]
    lines = kraftlake(*asked).lines
    (smallest,) = (line for line in lines if line.startswith("the smallest set of failures"))
    assert sum(line.endswith(" of 1 run without voters 2 and 3") for line in lines) == 1
    assert "loses committed records, unless voters 2 and 3 hold them: node 1 is dead" in smallest
