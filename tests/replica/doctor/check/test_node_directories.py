"""The unit of judgement is the node with all its directories: disks of other clusters, a metadata
log in two log directories, and log directories without one."""

from __future__ import annotations

import shutil
from pathlib import Path

from replica.doctor.check.formatted import judge_formatted
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.format.formatted import FormattedDirectory
from replica.model.keys import ReplicaId
from tests.replica.doctor.check.editing import edit_text, judged
from tests.replica.doctor.check.first_start import CLUSTER, start

DATA = Path(__file__).parents[3] / "data"
DYNAMIC, OTHER = DATA / "kafka-4.1.1-dynamic", DATA / "kafka-4.4.0-dynamic"
CLUSTERS = {1: "wK4Z31XJSxyKdzPVlZaFsg", 2: "umhhrJzySwu63ILwBFi6wQ", 3: "SeqmQktRQ9eNfuKic4TCIg"}
RULES = (
    "disk-of-another-cluster", "voter-without-own-disk", "cluster-ids-differ",
    "metadata-log-twice", "duplicate-identity",
)  # fmt: skip


def told(*nodes: Path) -> list[tuple[str, str]]:
    """(rule, folder) of the findings between the directories."""
    found = judged(*nodes).findings
    return [(one.rule.id, Path(one.file).parent.name) for one in found if one.rule.id in RULES]


def test_a_disk_of_another_cluster_is_named_as_such(tmp_path: Path) -> None:
    for node, source in ((1, DYNAMIC), (2, DYNAMIC), (3, OTHER)):
        shutil.copytree(source / f"final/{node}", tmp_path / str(node))
    group = judged(tmp_path)
    (found,) = (one for one in group.findings if one.rule.id == "disk-of-another-cluster")
    assert found.file == f"{tmp_path}/3/meta.properties"
    assert "whose voter 3 has no other directory here" in found.message
    (lacks,) = (one for one in group.findings if one.rule.id == "voter-without-own-disk")
    assert lacks.file == f"{tmp_path}/1/meta.properties"
    assert lacks.message == found.message, "both clusters say the same"
    doubts = {
        state.cluster_id: [voter.doubt for voter in state.quorum.voters]
        for state in judged(tmp_path, newest=True).states
        if state.quorum is not None
    }
    assert set(map(tuple, doubts.values())) == {
        (None, None, VoterDoubt.OF_ANOTHER_CLUSTER),
        (VoterDoubt.OF_ANOTHER_CLUSTER, VoterDoubt.OF_ANOTHER_CLUSTER, None),
    }


def test_voters_that_were_formatted_with_an_id_each_are_told(tmp_path: Path) -> None:
    nodes = [start(tmp_path / str(one), one, CLUSTERS[one]) for one in (1, 2, 3)]
    assert told(*nodes) == [("cluster-ids-differ", str(one)) for one in (1, 2, 3)]
    (message,) = {one.message for one in judged(*nodes).findings}
    assert message.startswith("3 nodes that name each other as voters have 3 cluster ids, and no")
    # two of three ids, and a voter that was not given
    assert told(*nodes[1:]) == [("cluster-ids-differ", "2"), ("cluster-ids-differ", "3")]


def test_an_id_of_which_a_node_holds_no_record_is_the_foreign_one(tmp_path: Path) -> None:
    shutil.copytree(DYNAMIC / "final/2", tmp_path / "2")
    start(tmp_path / "1", 1, CLUSTERS[1])
    assert told(tmp_path) == [("disk-of-another-cluster", "1"), ("voter-without-own-disk", "2")]


def test_nodes_of_quorums_that_do_not_name_each_other_are_no_finding(tmp_path: Path) -> None:
    start(tmp_path / "1", 1, CLUSTERS[1], voters=(1, 2))
    start(tmp_path / "3", 3, CLUSTERS[3], voters=(3, 4))
    assert told(tmp_path) == []


def test_two_clusters_that_are_complete_are_no_finding(tmp_path: Path) -> None:
    shutil.copytree(DYNAMIC / "final", tmp_path / "a")
    shutil.copytree(OTHER / "final", tmp_path / "b")
    assert told(tmp_path) == []


def test_a_cluster_that_is_complete_lends_no_disk_to_another(tmp_path: Path) -> None:
    shutil.copytree(DYNAMIC / "final", tmp_path / "a")
    shutil.copytree(OTHER / "final/1", tmp_path / "b/1")
    assert told(tmp_path) == []


def test_a_metadata_log_in_two_log_directories_of_a_node_is_no_second_node(tmp_path: Path) -> None:
    shutil.copytree(DYNAMIC / "live/1", tmp_path / "node1/a")
    shutil.copytree(DYNAMIC / "final/1", tmp_path / "node1/b")
    (found,) = (one for one in judged(tmp_path / "node1").findings if one.rule.id in RULES)
    assert found.rule.id == "metadata-log-twice"  # and not a copied directory id
    assert "the newer is " in found.message
    assert "node1/b/__cluster_metadata-0, with log end offset 3672 in epoch 6" in found.message


def test_directories_of_one_node_id_beside_other_nodes_are_a_duplicate(tmp_path: Path) -> None:
    for node in (1, 2):
        start(tmp_path / str(node), node)
    copy = start(tmp_path / "copy", 4)
    edit_text(copy / "meta.properties", "node.id=4", "node.id=2")
    assert [rule for rule, _ in told(tmp_path)] == ["duplicate-identity"]


def test_log_directories_without_a_metadata_log_are_judged_by_their_meta_properties() -> None:
    mine = ReplicaId(CLUSTER, 1, "a")
    other = ReplicaId(CLUSTERS[2], 1, "b")
    judged_nodes = [(mine, "nodes/1/metadata/meta.properties")]
    for directory, rules in (
        (FormattedDirectory("nodes/1/data", ReplicaId(CLUSTER, 1, "c")), []),
        (FormattedDirectory("nodes/1/data", other), ["log-directories-differ"]),
        (FormattedDirectory("nodes/2", ReplicaId(CLUSTER, 2, "d")), ["never-started"]),
        (FormattedDirectory("nodes/2", other), ["formatted-for-another-cluster"]),
    ):
        assert [one.rule.id for one in judge_formatted([directory], judged_nodes)] == rules
    alone = judge_formatted([FormattedDirectory("2", other)], [])
    assert [one.rule.id for one in alone] == ["never-started"]
