"""Rules about a quorum that never had a leader."""

from __future__ import annotations

from pathlib import Path

from replica.doctor.check.examined import examine
from replica.doctor.check.first_election import candidates, formatted_nodes
from replica.format.discovery import discover
from tests.replica.doctor.check.editing import edit_quorum_state, judged
from tests.replica.doctor.check.first_start import CLUSTER, start
from tests.secret_log import batch, level

OTHER = "umhhrJzySwu63ILwBFi6wQ"


def between(*nodes: Path) -> list[tuple[str, str]]:
    return [(one.rule.id, one.message) for one in judged(*nodes).findings]


def test_nodes_without_voters_are_named(tmp_path: Path) -> None:
    nodes = [start(tmp_path / str(node), node, voters=()) for node in (1, 2)]
    told = ("formatted-without-voters", "nodes 1 and 2 started without voters")
    assert between(*nodes) == [told]
    voter = start(tmp_path / "3", 3, voters=(3,))
    assert between(*nodes, voter) == []
    edit_quorum_state(nodes[0], leaderId=3, leaderEpoch=7)  # then a log was lost
    assert between(*nodes) == []


def test_feature_levels_differ(tmp_path: Path) -> None:
    nodes = [start(tmp_path / str(node), node, voters=(1, 2)) for node in (1, 2)]
    for node, known in zip(nodes, (21, 25), strict=True):
        (node / "bootstrap.checkpoint").write_bytes(batch(0, [level(known)], 0))
    assert between(*nodes) == [
        (
            "bootstrap-records-differ",
            f"node {one} lacks metadata.version {lacks}; node {other} has it",
        )
        for one, lacks, other in ((1, "4.0-IV3", 2), (2, "3.9-IV0", 1))
    ]


def test_a_node_that_can_t_lead_may_have_other_records(tmp_path: Path) -> None:
    voter, observer = start(tmp_path / "1", 1, voters=(1,)), start(tmp_path / "2", 2, voters=())
    for node, known in ((voter, 21), (observer, 25)):
        (node / "bootstrap.checkpoint").write_bytes(batch(0, [level(known)], 0))
    assert between(voter, observer) == []


def test_who_may_lead(tmp_path: Path) -> None:
    start(tmp_path / "1", 1)
    found = [examine(one) for one in discover([str(tmp_path)])]
    (cluster,) = candidates(formatted_nodes(found))
    assert (cluster.cluster_id, cluster.voters, cluster.given) == (CLUSTER, {1, 2, 3}, {1})
    assert cluster.text == "voters 1, 2 and 3 may lead once 2 of them run; not given: nodes 2 and 3"
    start(tmp_path / "2", 2, OTHER)
    found = [examine(one) for one in discover([str(tmp_path)])]
    texts = {one.cluster_id: one.text for one in candidates(formatted_nodes(found))}
    assert texts[CLUSTER] == (
        "voters 1, 2 and 3 may lead once 2 of them run with this cluster id; formatted with "
        "another one: node 2; not given: node 3"
    )
