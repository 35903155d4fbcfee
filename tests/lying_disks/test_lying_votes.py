"""A disk that takes no vote: the replica stops before it answers, and never votes twice."""

from __future__ import annotations

import asyncio
import errno
import time
from pathlib import Path

import pytest

from replica.errors import PeerError
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.storage.filesystem import LocalDisk
from replica.wire.apis.quorum import VOTE
from replica.wire.client import ClientConfig, Connection
from tests.interop.kafka_node import free_ports
from tests.interop.mixed_quorum import CLUSTER_ID, OURS, TOPIC, WITHIN_S, Voter
from tests.lying_disks.lies import Fault, Lies, ended

EPOCH = 9
FAULTS: dict[str, tuple[Fault, str]] = {
    "its bytes can't be synced": (
        ("fsync", r"/quorum-state\.tmp$", errno.EIO),
        "quorum-state.tmp: Input/output error",
    ),
    "the disk is full": (
        ("pwrite", r"/quorum-state\.tmp$", errno.ENOSPC),
        "quorum-state.tmp: No space left on device",
    ),
    "its file can't be renamed": (
        ("rename", r"/quorum-state$", errno.EIO),
        "quorum-state: Input/output error",
    ),
    "its name can't be synced": (
        ("fsync", rf"/{TOPIC}-0$", errno.EIO),
        f"{TOPIC}-0: Input/output error",
    ),
}


def lone_voter(folder: Path) -> Voter:
    """Voter 1 of three. Nobody else is there, so it leads no epoch."""
    ports = free_ports(3)
    voter = Voter(1, OURS, folder, ports[0], "")
    named = ",".join(f"{node}@127.0.0.1:{port}" for node, port in enumerate(ports, start=1))
    lines = {
        "process.roles": "controller",
        "node.id": 1,
        "log.dirs": folder / "log",
        "listeners": f"CONTROLLER://127.0.0.1:{voter.port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": named,
        "controller.quorum.fetch.timeout.ms": 600_000,
        "controller.quorum.election.timeout.ms": 600_000,
        "kraftlake.topic.name": TOPIC,
        "kraftlake.topic.id": "AAAAAAAAAAAAAAAAAAAAAg",
        "kraftlake.insecure.open.listeners": "true",
    }
    (folder / "log").mkdir(parents=True)
    voter.properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    format_node(LocalDisk(), settings_in(read_properties(str(voter.properties))), CLUSTER_ID)
    return voter


async def asked_for_a_vote(voter: Voter, candidate: int) -> bool | None:
    """Whether it was granted; None where the connection ends without an answer."""
    entry = {
        "partitionIndex": 0,
        "replicaEpoch": EPOCH,
        "replicaId": candidate,
        "lastOffsetEpoch": EPOCH - 1,
        "lastOffset": 1000,
        "preVote": False,
    }
    topics = [{"topicName": TOPIC, "partitions": [entry]}]
    asked = {"clusterId": CLUSTER_ID, "voterId": 1, "topics": topics}
    try:
        # A voter whose own election timeout passes first has ended before it takes the connection.
        connection = await Connection.connect("127.0.0.1", voter.port, ClientConfig())
    except PeerError:
        return None
    try:
        answer = await connection.call(VOTE, asked)
    except PeerError:
        return None
    finally:
        await connection.close()
    (found,) = answer.message["topics"][0]["partitions"]
    assert found["errorCode"] == 0
    return bool(found["voteGranted"])


def start(voter: Voter) -> None:
    """Until it listens."""
    said = voter.folder / "output.txt"
    before = said.read_text().count("listening on") if said.exists() else 0
    voter.start()
    deadline = time.monotonic() + WITHIN_S
    while said.read_text().count("listening on") == before:
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.02)


def granted(voter: Voter, candidate: int) -> bool | None:
    return asyncio.run(asked_for_a_vote(voter, candidate))


FIRST, *OTHERS = FAULTS


@pytest.mark.parametrize(
    "fault", [FIRST, *(pytest.param(other, marks=pytest.mark.slow) for other in OTHERS)]
)
def test_a_vote_that_the_disk_does_not_take_is_not_sent_and_never_given_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    lies = Lies(tmp_path)
    for name, value in lies.variables.items():
        monkeypatch.setenv(name, value)
    voter = lone_voter(tmp_path / "1")
    order, reason = FAULTS[fault]
    try:
        start(voter)
        lies.tell([order])
        assert granted(voter, 2) is None, "no answer before the vote is on the disk"
        assert ended(voter).endswith(reason)
        lies.tell()
        start(voter)
        votes = {candidate for candidate in (3, 2, 3, 2) if granted(voter, candidate)}
        assert len(votes) == 1
    finally:
        voter.kill()
