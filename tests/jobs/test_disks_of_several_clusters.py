"""What is wrong with the disks of several clusters stands first in every answer, and nobody is told
to act on a cluster whose voters are, by the same directories, in another one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.first_start import CLUSTER, start

OURS, THEIRS = "kafka-4.1.1-dynamic/final", "kafka-4.4.0-dynamic/final"
IDS = {1: CLUSTER, 2: "umhhrJzySwu63ILwBFi6wQ", 3: "SeqmQktRQ9eNfuKic4TCIg"}


def cluster_of(node: Path) -> str:
    text = (node / "meta.properties").read_text()
    return text.partition("cluster.id=")[2].split()[0]


def mixed(data: Path, folder: Path, *foreign: int) -> Path:
    """Three nodes, of which `foreign` have the disks of another cluster's."""
    for node in (1, 2, 3):
        source = THEIRS if node in foreign else OURS
        shutil.copytree(data / source / str(node), folder / str(node))
    return folder


def formatted_apart(folder: Path, ids: dict[int, str]) -> Path:
    for node, cluster_id in ids.items():
        start(folder / str(node), node, cluster_id)
    return folder


@pytest.mark.parametrize("foreign", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_foreign_disk_is_told_first_by_each_command(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, foreign: int
) -> None:
    nodes = mixed(data, tmp_path / "nodes", foreign)
    ours = cluster_of(data / OURS / "1")
    told = f"Node {foreign}'s disk is of another cluster: "
    for command in (("check",), ("what-happened",), ("recover", "--plan"),
                    ("plan", "--roll", "--cluster", ours)):  # fmt: skip
        ended = kraftlake(*command, nodes)
        assert ended.lines[0].startswith(f"AT RISK     {told}"), command
        assert f"Node {foreign}: Give the node its own disk: " in ended.out, command
        assert "directory was not given" not in ended.out.replace("own directory was not given", "")
        assert "not given: the directory of" not in ended.out
    exposure = kraftlake("state", "--exposure", "--cluster", ours, nodes)
    assert told in exposure.lines[0]
    exposed = kraftlake("state", "--exposure", "--json", "--cluster", ours, nodes).answers
    left = [row for row in exposed if row["kind"] == "nothing"]
    assert [row["voters_left"] for row in left] == [2]
    for command in (("rehearse",), ("restore", "--release", "4.1", "--dry-run"),
                    ("plan", "--roll"), ("state", "--exposure")):  # fmt: skip
        refused = kraftlake(*command, nodes)
        assert refused.code == 2, command
        assert told in refused.err, command


@pytest.mark.parametrize("foreign", [(3,), (1,), (1, 3)])
def test_no_plan_stops_the_voters_of_another_cluster(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, foreign: tuple[int, ...]
) -> None:
    nodes = mixed(data, tmp_path / "nodes", *foreign)
    ended = kraftlake("recover", "--plan", nodes)
    assert ended.code == 1
    assert "stand-in" not in ended.out
    assert "kafka-server-stop" not in ended.out
    assert ended.out.count(": no plan: ") == 1, "the cluster with a majority has one"
    rows = kraftlake("recover", "--plan", "--json", nodes).answers
    answers = {row["node_id"]: row["answer"] for row in rows if row["kind"] == "replica"}
    of_few = set(foreign) if len(foreign) == 1 else {1, 2, 3} - set(foreign)
    assert {node for node, answer in answers.items() if answer == "refused"} == of_few
    assert {node for node, answer in answers.items() if answer == "safe"} == {1, 2, 3} - of_few


def test_clusters_of_which_neither_has_a_majority_have_no_plan(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    nodes = mixed(data, tmp_path / "nodes", 2)
    shutil.rmtree(nodes / "3")
    ended = kraftlake("recover", "--plan", nodes)
    assert ended.out.count(": no plan: ") == 1
    assert ended.out.count(": no plan either, for the same reason") == 1
    assert "stand-in" not in ended.out


@pytest.mark.parametrize(
    ("ids", "headline"),
    [
        (IDS, "3 nodes that name each other as voters have 3 cluster ids"),
        ({**IDS, 2: CLUSTER}, "3 nodes that name each other as voters have 2 cluster ids"),
        ({1: IDS[1], 3: IDS[3]}, "2 nodes that name each other as voters have 2 cluster ids"),
    ],
)
def test_nodes_that_were_formatted_with_several_ids_are_told_once_and_first(
    kraftlake: Kraftlake, tmp_path: Path, ids: dict[int, str], headline: str
) -> None:
    nodes = formatted_apart(tmp_path / "nodes", ids)
    clusters = len(set(ids.values()))
    for command in (("check",), ("what-happened",), ("recover", "--plan")):
        ended = kraftlake(*command, nodes)
        assert ended.lines[0].startswith(f"ATTENTION   {headline}"), command
        assert ended.out.count(f"ATTENTION   {headline}") == 1, command
        above = ended.lines[: ended.lines.index("")]
        assert len(above) <= 10
        assert all(any(one in line for line in above) for one in ids.values()), command
        assert (
            "Choose one of these cluster ids. For each other node move the directory away"
            in ended.out
        )
        for wrong in ("INCOMPLETE", "Give the node its own disk", "Add the director",
                      "directory was not given", "Name the director"):  # fmt: skip
            assert wrong not in ended.out, command
    assert kraftlake("check", nodes).code == 1
    plans = kraftlake("recover", "--plan", nodes)
    assert plans.out.count(": no plan: ") == 1
    assert plans.out.count(": no plan either, for the same reason") == clusters - 1
    assert plans.out.count("\n  1. ") == 1


def test_a_disk_that_only_names_another_cluster_is_no_reason_for_a_stand_in(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / OURS, tmp_path / "nodes")
    meta = tmp_path / "nodes/3/meta.properties"
    ours = cluster_of(data / OURS / "1")
    meta.write_text(meta.read_text().replace(ours, IDS[3]))
    ended = kraftlake("recover", "--plan", tmp_path / "nodes")
    assert ended.out.count(": no plan: ") == 1
    assert "stand-in" not in ended.out
    assert "set cluster.id in the meta.properties of each of its log directories" in ended.out
