"""The vote on disk, on the real one and on the simulated one."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.errors import DataError, UsageError
from replica.model.keys import NO_NODE, ReplicaId, ReplicaKey
from replica.model.stored import ElectionState
from replica.storage.identity import read_identity, write_identity
from replica.storage.quorum_state_file import QuorumStateFile
from tests.replica.storage.conftest import Place

DIRECTORY = "YabyXINkS7WFoc_9PzSg0w"
VOTED = ElectionState(6, 3, ReplicaKey(3, DIRECTORY), kraft_version=1)
STATIC = ElectionState(8, 3, None, kraft_version=0, voter_ids=(1, 2, 3))


@pytest.mark.scenario("I08")
def test_a_disk_without_a_quorum_state_has_no_election_state(place: Place) -> None:
    assert QuorumStateFile(place.files, place.folder).read() is None


@pytest.mark.scenario("I10", "I11")
@pytest.mark.parametrize("state", [VOTED, STATIC, ElectionState(0), ElectionState(4, 2)])
def test_a_written_state_is_read_by_the_next_process(place: Place, state: ElectionState) -> None:
    QuorumStateFile(place.files, place.folder).write(ElectionState(1, 1))
    QuorumStateFile(place.files, place.folder).write(state)
    assert QuorumStateFile(place.files, place.folder).read() == state
    assert place.names() == ("quorum-state",)


@pytest.mark.scenario("I09")
def test_version_0_forgets_the_directory_and_version_1_the_voters(place: Place) -> None:
    store = QuorumStateFile(place.files, place.folder)
    store.write(ElectionState(2, NO_NODE, ReplicaKey(3, DIRECTORY), 0, (1, 2)))
    assert store.read() == ElectionState(2, NO_NODE, ReplicaKey(3), 0, (1, 2))
    store.write(ElectionState(2, NO_NODE, ReplicaKey(3, DIRECTORY), 1, (1, 2)))
    assert store.read() == ElectionState(2, NO_NODE, ReplicaKey(3, DIRECTORY), 1, ())


def test_the_text_is_the_one_that_kafka_writes(place: Place, data: Path) -> None:
    recorded = {
        "kafka-4.1.1-dynamic/final/1": VOTED,
        "kafka-3.7.2-static/final/1": STATIC,
    }
    for node, state in recorded.items():
        QuorumStateFile(place.files, place.folder).write(state)
        kafkas = (data / node / "__cluster_metadata-0" / "quorum-state").read_bytes()
        assert place.content("quorum-state") == kafkas


@pytest.mark.scenario("I01", "I12")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"leaderId":1,"leaderEpoch":3,"votedId":-1,"data_version":2}', "data_version 2"),
        (b'{"leaderId":1,"lead', "byte 14: not JSON"),
        (b"", "byte 0: not JSON"),
    ],
)
def test_a_state_that_cannot_be_read_is_never_taken_for_no_vote(
    place: Place, content: bytes, said: str
) -> None:
    place.put("quorum-state", content)
    with pytest.raises(DataError) as refused:
        QuorumStateFile(place.files, place.folder).read()
    assert "/quorum-state: " in str(refused.value)
    assert said in str(refused.value)
    assert "must not vote again" in str(refused.value)


def test_an_identity_is_written_once(place: Place) -> None:
    folder = place.folder + "-node"
    replica = ReplicaId("Lr3UIdBxT-GFPYE5uprmrg", 1, DIRECTORY)
    place.files.make_directory(folder)
    assert read_identity(place.files, folder) is None
    write_identity(place.files, folder, replica, ("", "Sat Nov 21 03:19:35 UTC 2026"))
    assert read_identity(place.files, folder) == replica
    with pytest.raises(UsageError, match=r"meta\.properties: already formatted"):
        write_identity(place.files, folder, replica)
