"""The upgrade of a static quorum to kraft.version 1 writes what Kafka 4.1.1 wrote in one
(tests/golden/kraft_version_upgrade)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from replica.model.batch import Batch
from replica.model.control import KRaftVersion, KRaftVoters, LeaderChange
from replica.model.kafka_errors import ErrorCode
from replica.model.stored import ElectionState
from replica.model.voters import VoterSet, without_directories
from replica.raft.inputs import Request
from replica.raft.messages import UpdateFeaturesRequest, UpdateVoterRequest
from replica.storage.batches import batches_of, bytes_of
from replica.storage.filesystem import LocalDisk
from replica.storage.quorum_state_file import QuorumStateFile
from tests.replica.raft.host import Host, begin, config, elect, fetch, vote, win

GOLDEN = Path(__file__).parents[2] / "golden" / "kraft_version_upgrade"
UPGRADE = UpdateFeaturesRequest(kraft_version=1)


def recorded() -> dict[int, Batch]:
    batches = batches_of((GOLDEN / "segment.log").read_bytes(), 0)
    return {batch.base_offset: batch for batch in batches}


def voters_of(upgrade: Batch) -> VoterSet:
    (voters,) = (record.voters for record in upgrade.control if isinstance(record, KRaftVoters))
    return voters


def static(node_id: int, voters: VoterSet) -> Host:
    """A node of the static quorum, which doesn't know the others' directories."""
    local = voters.voter(node_id)
    plain = replace(config(node_id), local=local, static_voters=without_directories(voters))
    return Host(plain)


def commit(host: Host, voters: VoterSet, *node_ids: int) -> None:
    for node_id in node_ids:
        end = host.disk.log_end
        fetch(host, node_id, end, replica=voters.voter(node_id).key)


def upgraded(host: Host, voters: VoterSet, *others: int) -> None:
    """Lead, hear from the other voters, and finalize version 1."""
    elect(host)
    commit(host, voters, *others)
    epoch = host.raft.role.epoch
    for node_id in others:
        update = UpdateVoterRequest(epoch=epoch, voter=voters.voter(node_id))
        assert host.ask(update).error is ErrorCode.NONE
    host.step(Request("upgrade", UPGRADE))


def file_bytes(state: ElectionState, folder: Path) -> bytes:
    QuorumStateFile(LocalDisk(), str(folder)).write(state)
    return (folder / "quorum-state").read_bytes()


def golden(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def test_the_leader_appends_the_very_batch_that_kafka_appended() -> None:
    kafkas = recorded()[22]
    assert kafkas.control == (KRaftVersion(1), KRaftVoters(voters_of(kafkas)))
    host = static(2, voters_of(kafkas))
    upgraded(host, voters_of(kafkas), 1, 3)
    ours = host.disk.batches[-1]
    placed = replace(
        ours,
        base_offset=kafkas.base_offset,
        last_offset=kafkas.last_offset,
        epoch=kafkas.epoch,
        timestamp=kafkas.timestamp,
    )
    assert bytes_of(placed) == kafkas.data


def test_the_upgrade_itself_leaves_quorum_state_in_version_0(tmp_path: Path) -> None:
    voters = voters_of(recorded()[22])
    host = static(2, voters)
    upgraded(host, voters, 1, 3)
    commit(host, voters, 1)
    assert host.replies["upgrade"].error is ErrorCode.NONE
    assert file_bytes(host.disk.state, tmp_path) == golden("quorum-state-2-before")


def test_the_old_leader_s_next_vote_is_kept_with_its_directory(tmp_path: Path) -> None:
    voters = voters_of(recorded()[22])
    host = static(2, voters)
    upgraded(host, voters, 1, 3)
    commit(host, voters, 1, 3)
    new = voters.voter(3).key
    granted = vote(
        host, new, 2, last_epoch=1, end_offset=host.disk.log_end, voter=voters.voter(2).key
    )
    assert granted.granted
    assert begin(host, 3, 2, voter=voters.voter(2).key).error is ErrorCode.NONE
    assert file_bytes(host.disk.state, tmp_path) == golden("quorum-state-2-next-epoch")


def test_a_leader_elected_after_the_upgrade_keeps_version_1(tmp_path: Path) -> None:
    kafkas = recorded()
    voters = voters_of(kafkas[22])
    old = static(2, voters)
    upgraded(old, voters, 1, 3)
    follower = static(3, voters)
    begin(follower, 2, 1)
    follower.disk.batches = old.disk.batches
    follower.disk.flushed = old.disk.log_end
    again = follower.restarted()
    again.after(again.config.fetch_timeout_ms)
    assert win(again) == 2
    assert file_bytes(again.disk.state, tmp_path) == golden("quorum-state-3-next-epoch")
    change = again.disk.batches[-1].control[0]
    theirs = kafkas[32].control[0]
    assert isinstance(change, LeaderChange)
    assert isinstance(theirs, LeaderChange)
    assert (change.leader_id, ids(change)) == (theirs.leader_id, ids(theirs))


def ids(change: LeaderChange) -> list[int]:
    """Of the voters, whose directories LEADER_CHANGE of version 0 leaves out."""
    return [key.node_id for key in change.voters]


@pytest.mark.parametrize("node_id", [1, 2])
def test_a_static_follower_and_leader_write_version_0(node_id: int, tmp_path: Path) -> None:
    voters = voters_of(recorded()[22])
    host = static(node_id, voters)
    if node_id == 2:
        elect(host)
    else:
        assert vote(host, without_directories(voters).voter(2).key, 1).granted
        begin(host, 2, 1)
    assert file_bytes(host.disk.state, tmp_path) == golden(f"quorum-state-{node_id}-before")
