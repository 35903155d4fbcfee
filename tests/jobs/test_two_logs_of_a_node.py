"""A node with a metadata log in two of its log directories: each command names the directory that
it speaks of, and the plan leaves the node one of them before it starts it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

DYNAMIC = "kafka-4.1.1-dynamic"


@pytest.fixture
def folder(data: Path, tmp_path: Path) -> Path:
    """Node 1 with an old metadata log in `a`, and its own in `b`."""
    shutil.copytree(data / DYNAMIC / "live/1", tmp_path / "node1/a")
    shutil.copytree(data / DYNAMIC / "final/1", tmp_path / "node1/b")
    meta = tmp_path / "node1/a/meta.properties"
    lines = meta.read_text().splitlines()
    other = [f"directory.id={'A' * 21}Q" if "directory.id" in one else one for one in lines]
    meta.write_text("\n".join(other))
    return tmp_path


def test_the_directory_is_named_where_several_of_one_node_are_given(
    kraftlake: Kraftlake, folder: Path
) -> None:
    ended = kraftlake("what-happened", folder / "node1")
    old, own = (f"{folder}/node1/{one}/__cluster_metadata-0" for one in "ab")
    (said,) = (one for one in ended.lines if "two metadata logs of one node" in one)
    assert f"Node 1 ({own}): two metadata logs" in said
    assert f"node 1 has one in {old} too; the newer is {own}" in said
    (behind,) = (one for one in ended.lines if one.startswith("behind"))
    assert behind.split()[1:4] == ["node", "1", f"({old})"]
    assert any(
        one.startswith("as of") and one.endswith(f"of node 1 ({own})") for one in ended.lines
    )
    # that one of them is no voter's follows from it, and its own advice would be wrong
    assert "remove the old voter" not in ended.out
    assert any("runbook     brokers-down" in one for one in ended.lines), "the page of the outage"


def test_the_plan_leaves_the_node_one_log_before_it_starts_it(
    kraftlake: Kraftlake, data: Path, folder: Path
) -> None:
    lines = kraftlake("recover", "--plan", folder / "node1").lines
    (leaves,) = (one for one in lines if "Leave node 1 only the metadata log of" in one)
    assert f"Leave node 1 only the metadata log of {folder}/node1/b/" in leaves
    assert f"of {folder}/node1/a/__cluster_metadata-0 out of log.dirs." in leaves
    starts = next(i for i, one in enumerate(lines) if "Start all voters." in one)
    assert lines.index(leaves) < starts
    number = leaves.split(".")[0].strip()
    assert f"      step {number} moves it away: the node has another metadata log" in lines
    for node in (2, 3):
        shutil.copytree(data / DYNAMIC / f"final/{node}", folder / f"node{node}/x")
    lines = kraftlake("recover", "--plan", folder).lines
    assert [one[:27] for one in lines if "Leave node 1" in one] == [
        "  2. Leave node 1 only the m"[:27]
    ]
    (start,) = (one for one in lines if "start the others" in one)
    assert start.startswith("  3. ")
