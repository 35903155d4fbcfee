"""Replicas against each other: what no directory shows on its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from replica.doctor.check.newest import QuorumRole
from replica.format.record import records_of
from replica.format.walk import LocatedBatch
from replica.severity import Severity
from tests.replica.doctor.check.editing import (
    append,
    append_leader_change,
    batches,
    edit_quorum_state,
    edit_text,
    judged,
    metadata,
    places,
    rename_initial_voter,
    segment,
    set_value,
    snapshot,
)

DATA = Path(__file__).parents[3] / "data"
FIRST_DISK = "qufyMfPsTZ27gBxKC_Me3w"
"""The directory id of node 1 until its disk was replaced."""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Nodes 2 and 3 of the dynamic quorum, healed."""
    for node in ("2", "3"):
        shutil.copytree(DATA / "kafka-4.1.1-dynamic/final" / node, tmp_path / node)
    return tmp_path


@pytest.fixture
def static(tmp_path: Path) -> Path:
    for node in ("1", "2", "3"):
        shutil.copytree(DATA / "kafka-3.7.2-static/final" / node, tmp_path / node)
    return tmp_path


def told(cluster: Path) -> list[tuple[str, str, str, int | None]]:
    """(rule, node, file, byte) of the findings between directories."""
    found = judged(cluster).findings
    parts = [(finding, Path(finding.file).relative_to(cluster).parts) for finding in found]
    return [(f.rule.id, part[0], part[-1], f.position) for f, part in parts]


def test_other_bytes_at_one_offset_and_epoch_are_a_conflict(cluster: Path) -> None:
    path = segment(cluster / "2", 2722)
    batch = batches(path)[-1]
    offset = batch.header.base_offset
    set_value(path, batch, lambda value: value[:-1] + b"\x01")
    errors = [f for f in judged(cluster).findings if f.severity is Severity.ERROR]
    told = {Path(f.file).relative_to(cluster).parts[0]: f for f in errors}
    assert {f.rule.id for f in errors} == {"conflict"}
    assert told.keys() == {"2", "3"}, "each log that conflicts with another; node 1's ends before"
    assert (told["2"].offset, told["2"].position) == (offset, batch.position)
    assert told["2"].message == f"from offset {offset} on node 3 holds other records"


def test_committed_records_on_the_losing_branch_are_at_risk(static: Path) -> None:
    # nodes 1 and 2 agree on 3 records more, which a majority holds in the newest epoch known to
    # them; node 3 comes with a newer epoch and less
    for node in ("1", "2"):
        path = segment(static / node, 0)
        append(path, *[metadata("NO_OP_RECORD")] * 3)
    third = segment(static / "3", 519)
    last = batches(third)[-1].header
    append(third, metadata("NO_OP_RECORD"), epoch=last.leader_epoch + 1)
    found = judged(static).findings
    at_risk = [f for f in found if f.rule.id == "committed-data-at-risk"]
    assert at_risk
    assert {f.offset for f in at_risk} == {last.next_offset}
    assert "log-divergence" in {f.rule.id for f in found}


def test_snapshots_of_one_id_with_other_states_conflict(cluster: Path) -> None:
    source, copy = snapshot(cluster / "3", 2571, 6), snapshot(cluster / "2", 2571, 6)
    shutil.copy(source, copy)
    assert told(cluster) == []
    set_value(
        copy, batches(copy)[-2], lambda _: metadata("TOPIC_RECORD", name="t", topicId="A" * 22)
    )
    name = copy.name
    assert told(cluster) == [("snapshot-id-conflict", "3", name, None)]


def test_snapshots_that_differ_in_orphan_configs_are_a_known_quirk(cluster: Path) -> None:
    source, copy = snapshot(cluster / "3", 2571, 6), snapshot(cluster / "2", 2571, 6)
    shutil.copy(source, copy)
    config = metadata(
        "CONFIG_RECORD", resourceType=2, resourceName="gone", name="retention.ms", value="1"
    )
    whole = batches(copy)
    footer = copy.read_bytes()[whole[-1].position :]
    copy.write_bytes(copy.read_bytes()[: whole[-1].position])
    append(copy, config)
    # the footer again, one offset further on
    offset = batches(copy)[-1].header.next_offset
    copy.write_bytes(copy.read_bytes() + offset.to_bytes(8, "big") + footer[8:])
    (found,) = judged(cluster).findings
    assert (found.rule.id, found.severity) == ("snapshot-id-orphans", Severity.INFO)
    assert places(judged(cluster / "2").members[0].findings) == []


@pytest.mark.parametrize("capture", ["live", "split", "final"])
def test_bootstrap_snapshots_may_differ_in_what_formatting_wrote(capture: str) -> None:
    # node 1 was formatted with --no-initial-controllers, nodes 2 and 3 as initial controllers
    group = judged(DATA / "kafka-4.4.0-dynamic" / capture)
    rules = {finding.rule.id for finding in group.findings}
    assert rules <= {"log-divergence", "voter-behind", "snapshot-id-orphans"}
    assert ("log-divergence" in rules) == (capture == "split")


def test_bootstrap_snapshots_that_name_other_initial_voters_are_told(tmp_path: Path) -> None:
    for node in ("1", "2", "3"):
        shutil.copytree(DATA / "kafka-4.4.0-dynamic/final" / node, tmp_path / node)
    rename_initial_voter(tmp_path / "3", "LEGXfSTrSpajWUbJq4SdfA", "AAAAAAAAAAAAAAAAAAA19g")
    found = [f for f in judged(tmp_path).findings if f.severity is not Severity.INFO]
    assert [f.rule.id for f in found] == ["initial-voters-differ"]
    bootstrap = snapshot(tmp_path / "2", 0, 0)
    assert found[0].file == str(snapshot(tmp_path / "3", 0, 0))
    assert "1-AAAAAAAAAAAAAAAAAAA19g" in found[0].message
    assert found[0].message.endswith(f"in {bootstrap}")


def _is_no_op(path: Path, batch: LocatedBatch) -> bool:
    whole = path.read_bytes()[batch.position : batch.position + batch.header.size_bytes]
    (record,) = records_of(batch.header, whole)
    return record.value == metadata("NO_OP_RECORD")


def test_configs_that_a_snapshot_leaves_out_since_kafka_4_2_are_a_known_quirk(
    tmp_path: Path,
) -> None:
    for node in ("2", "3"):
        shutil.copytree(DATA / "kafka-4.4.0-dynamic/live" / node, tmp_path / node)
    fields = {"resourceType": 32, "resourceName": "g", "name": "no.such.name", "value": "1"}
    config = metadata("CONFIG_RECORD", **fields)
    for node in ("2", "3"):
        log = segment(tmp_path / node, 0)
        no_op = next(
            b for b in batches(log)[50:] if b.header.record_count == 1 and _is_no_op(log, b)
        )
        set_value(log, no_op, lambda _: config)
    found = [f for m in judged(tmp_path).members for f in m.findings if "index" not in f.rule.id]
    told = {(f.rule.id, f.severity, f.message) for f in found}
    assert ("configs-left-out", Severity.INFO, "1 config of the log left out") in told


def test_two_directories_of_one_node_are_a_duplicate(cluster: Path) -> None:
    shutil.copytree(cluster / "3", cluster / "copy")
    assert set(told(cluster)) == {("duplicate-identity", "copy", "meta.properties", None)}


def test_one_log_under_two_cluster_ids_is_named(cluster: Path) -> None:
    edit_text(cluster / "3" / "meta.properties", "Lr3UIdBxT-GFPYE5uprmrg", "MkU3OEVBNTcwNTJENDM2Qg")
    assert told(cluster) == [
        ("voter-without-own-disk", "2", "meta.properties", None),
        ("cluster-id-mismatch", "3", "meta.properties", None),
    ]


def test_two_clusters_in_one_call_are_fine() -> None:
    group = judged(DATA / "kafka-4.1.1-dynamic/final", DATA / "kafka-3.7.2-static/final")
    assert group.findings == ()


def test_static_quorums_must_name_the_same_voters(static: Path) -> None:
    edit_quorum_state(static / "2", currentVoters=[{"voterId": 2}, {"voterId": 3}])
    assert told(static) == [("voter-sets-differ", "2", "quorum-state", None)]


def test_one_epoch_has_one_leader(static: Path) -> None:
    edit_quorum_state(static / "2", leaderId=2)
    assert told(static) == [("two-leaders", "2", "quorum-state", None)]


@pytest.mark.parametrize("node", ["2", "3"])
def test_two_leaders_by_two_voter_sets_are_no_double_vote(static: Path, node: str) -> None:
    """Each counted a majority of its own, also where another node follows one of them."""
    edit_quorum_state(static / "2", currentVoters=[{"voterId": 2}])
    edit_quorum_state(static / node, leaderId=2)
    (found,) = judged(static).findings
    assert found.rule.id == "voter-sets-differ"
    of_leaders = "; the leader of epoch 8 is 2 here, and 3 there"
    assert found.message.endswith(of_leaders) is (node == "2"), found.message


def test_a_siblings_log_verifies_a_snapshot(static: Path) -> None:
    shutil.rmtree(static / "2")
    alone = {v.id.offset: v.validity for m in judged(static / "3").members for v in m.verdicts}
    together = [m for m in judged(static).members if m.examined.replica.node_id == 3]  # type: ignore[union-attr]
    assert {v.id.offset: str(v.validity) for v in together[0].verdicts} == {
        519: "valid",
        1913: "valid",
    }
    assert alone[519] == "unverifiable"


def test_a_siblings_log_finds_a_wrong_snapshot(static: Path) -> None:
    path = snapshot(static / "3", 519, 5)
    topic = metadata("TOPIC_RECORD", name="t", topicId="A" * 22)
    set_value(path, batches(path)[-2], lambda _: topic)
    (member,) = [m for m in judged(static).members if m.examined.replica.node_id == 3]  # type: ignore[union-attr]
    assert ("snapshot-content", path.name, None) in places(member.findings)


@pytest.mark.parametrize(
    ("newest_epoch", "rule"),
    [(11, "quorum-state-ahead"), (7, "quorum-state-ahead"), (6, "elections-without-winner")],
)
def test_elections_had_a_winner_where_another_log_shows_a_later_leader(
    cluster: Path, newest_epoch: int, rule: str
) -> None:
    """The node was away for long, or its log is behind: its own files know of no winner."""
    edit_quorum_state(cluster / "2", leaderEpoch=11, leaderId=-1, votedId=-1)
    if newest_epoch > 6:
        append_leader_change(segment(cluster / "3", 2722), newest_epoch, 3)
    behind, _ = judged(cluster).members
    found = {one.rule.id for one in behind.findings if one.file.endswith("quorum-state")}
    assert found == {rule}
    alone = places(judged(cluster / "2").members[0].findings)
    assert [one[0] for one in alone if one[1].endswith("quorum-state")] == [
        "elections-without-winner"
    ], "alone nothing else is known"


@pytest.mark.parametrize(
    ("epoch", "leader", "rule"),
    [(8, -1, "elections-without-winner"), (8, 3, "quorum-state-ahead"),
     (6, 3, None), (12, 3, "quorum-state-ahead")],
)  # fmt: skip
def test_each_node_that_saw_no_winner_is_named_once_one_went_through_many_epochs(
    cluster: Path, epoch: int, leader: int, rule: str | None
) -> None:
    """A leader that any quorum-state names was elected, also if no log here has its records."""
    edit_quorum_state(cluster / "2", leaderEpoch=11, leaderId=-1, votedId=2)
    edit_quorum_state(cluster / "3", leaderEpoch=epoch, leaderId=leader, votedId=-1)
    rules = [
        [one.rule.id for one in member.findings if one.file.endswith("quorum-state")]
        for member in judged(cluster).members
    ]
    led = epoch if leader > 0 else 6
    first = "elections-without-winner" if 11 - led >= 5 else "quorum-state-ahead"
    assert rules == [[first], [] if rule is None else [rule]]


def _forget_from(node: Path, offset: int) -> None:
    """Cut the node's log off, and delete its snapshots behind."""
    segment(node, 2722).unlink()
    path = segment(node, 1262)
    if offset <= 1262:
        path.unlink()
        path = segment(node, 0)
    first = next(one for one in batches(path) if one.header.base_offset >= offset)
    os.truncate(path, first.position)
    for one in path.parent.glob("*.checkpoint"):
        if int(one.name.partition("-")[0]) >= offset:
            one.unlink()


def test_a_role_is_that_of_the_newest_voter_set_and_the_node_s_own_belief_stands_beside_it(
    cluster: Path,
) -> None:
    """At offset 1227 node 1 ceases to be a voter with its old disk, at 1392 it becomes one with its
    new disk."""
    new = Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/1", cluster / "1"))
    old = Path(shutil.copytree(new, cluster / "old"))
    edit_text(old / "meta.properties", "w1rJ2UULXXXZu6RS0Vk1kg", FIRST_DISK)
    _forget_from(new, 1300)
    _forget_from(old, 1200)
    roles = {
        (one.examined.shown.split("/")[-2]): (one.role, one.role_by_own_log)
        for one in judged(cluster).members
    }
    voter, observer = QuorumRole.VOTER, QuorumRole.OBSERVER
    assert roles == {
        "1": (voter, observer),
        "2": (voter, voter),
        "3": (voter, voter),
        "old": (observer, voter),
    }
