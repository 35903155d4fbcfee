"""The commands that a script gives to a quorum."""

from __future__ import annotations

import pytest

from replica.format import meta_properties
from replica.raft.leader.leading import NotLeaderError
from replica.simulate.broken import BrokenInvariantError
from replica.simulate.metadata_records import create_topic, no_op
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import START_MS, ScriptedQuorum


@pytest.fixture
def quorum() -> ScriptedQuorum:
    return ScriptedQuorum("a test", Layout(voters=3, observers=1))


@pytest.mark.parametrize("node_id", [1, 2, 3])
def test_elect_makes_the_named_node_the_leader(quorum: ScriptedQuorum, node_id: int) -> None:
    epoch = quorum.elect(node_id)
    assert quorum.simulation.leader() is quorum.nodes[node_id]
    quorum.crash(node_id)
    assert quorum.elect(node_id % 3 + 1) > epoch


def test_no_leader_is_elected_without_a_majority(quorum: ScriptedQuorum) -> None:
    quorum.cut([1])
    with pytest.raises(BrokenInvariantError, match="liveness"):
        quorum.elect(1)


def test_committed_records_are_on_all_nodes_after_settle(quorum: ScriptedQuorum) -> None:
    quorum.elect(2)
    end = quorum.commit(2, create_topic("orders", quorum.brokers), no_op())
    quorum.settle()
    assert [quorum.log_end(node_id) for node_id in quorum.nodes] == [end] * 4


def test_only_a_leader_appends(quorum: ScriptedQuorum) -> None:
    quorum.elect(1)
    with pytest.raises(NotLeaderError):
        quorum.append(2, no_op())


def test_records_of_a_cut_off_leader_are_only_on_its_disk(quorum: ScriptedQuorum) -> None:
    quorum.elect(1)
    quorum.settle()
    quorum.cut([1])
    base = quorum.append(1, no_op())
    quorum.run_ms(100)
    assert [quorum.log_end(node_id) for node_id in quorum.nodes] == [base + 1, base, base, base]
    quorum.heal()
    quorum.settle()
    assert [quorum.log_end(node_id) for node_id in quorum.nodes] == [base + 1] * 4


def test_a_wiped_disk_has_another_directory_id(quorum: ScriptedQuorum) -> None:
    def directory_id() -> str:
        data = quorum.capture().files[3]["meta.properties"]
        replica = meta_properties.decode(data).replica
        assert replica is not None
        assert (replica.cluster_id, replica.node_id) == (quorum.cluster_id, 3)
        return replica.directory_id

    before = directory_id()
    quorum.crash(3)
    quorum.wipe(3)
    assert directory_id() != before


def test_a_restored_disk_has_its_earlier_content(quorum: ScriptedQuorum) -> None:
    quorum.elect(1)
    quorum.settle()
    quorum.crash(3)
    before, image = quorum.capture().files[3], quorum.disk_image(3)
    quorum.start(3)
    quorum.commit(1, no_op())
    quorum.settle()
    quorum.crash(3)
    assert quorum.capture().files[3] != before
    quorum.restore(3, image)
    assert quorum.capture().files[3] == before


def test_all_clocks_begin_at_one_moment_and_go_on(quorum: ScriptedQuorum) -> None:
    before = quorum.capture().captured_at_ms
    quorum.run_ms(5000)
    assert before >= START_MS
    assert before + 5000 <= quorum.capture().captured_at_ms
