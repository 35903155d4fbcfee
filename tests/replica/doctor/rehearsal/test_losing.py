"""The smallest set of failures that loses committed records, on quorums that the engine made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from replica.doctor.rehearsal.captured import CapturedNode, CapturedQuorum
from replica.doctor.rehearsal.losing import smallest_loss
from replica.doctor.rehearsal.outcome import rehearse
from replica.doctor.rehearsal.step import Scenario, ScenarioStep
from replica.format.batch import decode_header
from replica.history.commitment import classify
from replica.history.log import LogBatch, ReplicaLog
from replica.metadata.record import MetadataRecord
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter, VotersAt, voter_set
from replica.simulate.metadata_records import create_topic
from replica.simulate.node import Layout, key_of
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.storage.batches import bytes_of


def captured(
    name: str,
    *,
    is_static: bool,
    lagging: int | None = None,
    last: Sequence[MetadataRecord] = create_topic("topic", (4,)),
) -> CapturedQuorum:
    """Three voters that have committed some records; one of them may be cut off before the last
    batch."""
    quorum = ScriptedQuorum(name, Layout(voters=3, is_static=is_static))
    quorum.elect(1)
    quorum.populate(1)
    quorum.settle()
    if lagging is not None:
        quorum.cut([lagging])
    quorum.commit(1, last)
    logs = {node_id: log_of(quorum, node_id, is_static=is_static) for node_id in quorum.nodes}
    files = quorum.capture().files
    nodes = {
        node_id: CapturedNode(quorum.nodes[node_id].local.key, files[node_id], logs[node_id])
        for node_id in quorum.nodes
    }
    voters = voter_set(
        Voter(ReplicaKey(node.node_id), node.local.endpoints) if is_static else node.local
        for node in quorum.nodes.values()
    )
    ended = quorum.capture().captured_at_ms
    known = classify(list(logs.values()))
    return CapturedQuorum(quorum.cluster_id, nodes, voters, is_static, known, known, ended)


def log_of(quorum: ScriptedQuorum, node_id: int, *, is_static: bool) -> ReplicaLog:
    host = quorum.nodes[node_id].running
    batches = []
    for batch in host.log.batches(0, host.log.log_end):
        header = decode_header(bytes_of(batch))
        digest = (header.crc, header.size_bytes)
        batches.append(LogBatch(batch.base_offset, batch.last_offset, batch.epoch, digest))
    voters = frozenset(
        ReplicaKey(node.node_id) if is_static else node.local.key for node in quorum.nodes.values()
    )
    named = (VotersAt(0, 1, voters),)
    return ReplicaLog(
        key_of(host),
        0,
        tuple(batches),
        quorum_epoch=host.raft.role.epoch,
        voter_sets=() if is_static else named,
        leader_changes=named if is_static else (),
    )


def test_one_empty_disk_of_a_static_quorum_loses_what_a_lagging_voter_lacks() -> None:
    quorum = captured("static", is_static=True, lagging=3)
    loss = smallest_loss(quorum, 2, range(6)).loss
    assert loss is not None
    assert (len(loss.scenario.steps[0].empty), loss.scenario.steps[0].dead) == (1, ())
    assert loss.leader == 3
    again = rehearse(quorum, loss.scenario, loss.seed).outcome
    assert (again.leader, again.committed_lost) == (3, loss.lost)


def test_a_dynamic_quorum_loses_by_no_single_failure_what_two_voters_hold() -> None:
    quorum = captured("dynamic", is_static=False, lagging=3)
    assert smallest_loss(quorum, 1, range(6)).loss is None
    loss = smallest_loss(quorum, 2, range(6)).loss
    assert loss is not None
    assert loss.scenario == Scenario((ScenarioStep(dead=(1, 2)),))
    assert loss.leader is None


def test_what_one_voter_alone_is_known_to_hold_may_be_lost_with_it() -> None:
    """Voter 2 wasn't given: with voter 1 it may have committed what voter 3 lacks."""
    whole = captured("dynamic", is_static=False, lagging=3)
    assert smallest_loss(whole, 1, range(1)).may_lose is None
    given = {node_id: node for node_id, node in whole.nodes.items() if node_id != 2}
    known = classify([node.log for node in given.values()])
    search = smallest_loss(
        replace(whole, nodes=given, commitment=known, by_logs=known), 1, range(1)
    )
    assert search.loss is None
    assert search.may_lose is not None
    assert search.may_lose.step == ScenarioStep(dead=(1,))
    assert search.may_lose.lost[-1].end == given[1].log.end_offset


@pytest.mark.parametrize("is_static", [False, True])
def test_equal_logs_are_lost_by_no_single_failure(is_static: bool) -> None:
    quorum = captured("equal", is_static=is_static)
    search = smallest_loss(quorum, 1, range(3))
    assert (search.loss, search.bound) == (None, 1)
