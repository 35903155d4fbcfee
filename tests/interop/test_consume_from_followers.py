"""`kraftlake consume` and its replica selectors on three kraftlake processes: who serves is told by
the replicas' own counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.wire.apis.fetching import FETCH
from tests.interop.reader_quorum import ReaderQuorum, fetched, reader_quorum
from tests.kraftlake_process import kraftlake

VALUES = [b"value %d" % number for number in range(60)]


@dataclass(frozen=True)
class World:
    """All values are committed, and known to be so everywhere."""

    quorum: ReaderQuorum
    leader: int
    followers: tuple[int, int]

    def rack_of(self, role: str) -> str:
        """leader, follower, elsewhere, or empty for none."""
        racks = {"leader": f"rack-{self.leader}", "follower": f"rack-{self.followers[0]}"}
        return racks.get(role, role)

    def nodes_of(self, role: str) -> set[int]:
        """follower: the one in whose rack a reader is, followers: either."""
        first, second = self.followers
        roles = {"leader": {self.leader}, "follower": {first}, "followers": {first, second}}
        return roles.get(role, {self.leader, first, second})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    patient = {"controller__quorum__fetch__timeout__ms": 600_000}
    with reader_quorum(tmp_path_factory.mktemp("consume"), **patient) as quorum:
        quorum.replicated(quorum.append(VALUES))
        leader = quorum.leader()
        first, second = quorum.followers()
        yield World(quorum, leader, (first, second))


def consume(quorum: ReaderQuorum, *arguments: str) -> list[bytes]:
    of_topic = ("consume", "-b", quorum.bootstrap, "--topic", quorum.topic.name)
    ran = kraftlake(*of_topic, "--json", "--until-end", *arguments)
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return [row["value"].encode() for row in rows if "value" in row]


@pytest.mark.parametrize(
    ("selector", "rack", "served_by"),
    [
        ("leader", "", "leader"),
        ("leader", "follower", "follower"),
        ("leader", "leader", "leader"),
        ("leader", "elsewhere", "leader"),
        ("rack", "follower", "follower"),
        ("rack", "leader", "leader"),
        ("rack", "elsewhere", "leader"),
        ("nearest", "", "any"),
        ("least-lag", "", "followers"),
    ],
)
def test_the_replica_that_is_wished_for_serves_every_record(
    world: World, selector: str, rack: str, served_by: str
) -> None:
    before = world.quorum.fetches()
    options = ["--replica-selector", selector]
    options += ["--rack", world.rack_of(rack)] if rack else []
    assert consume(world.quorum, *options) == VALUES
    after = world.quorum.fetches()
    served = {node_id for node_id in after if after[node_id] > before[node_id]}
    assert len(served) == 1
    assert served <= world.nodes_of(served_by)


@pytest.mark.scenario("K11")
def test_an_offset_that_a_lagging_follower_calls_out_of_range_is_read_from_the_leader(
    world: World,
) -> None:
    """Last in this module: the logs are longer afterwards."""
    quorum, (lagging, _) = world.quorum, world.followers
    replica = f"raft-client-{lagging}"
    quorum.proxies.held = lambda call: call.client_id == replica and call.api_key == FETCH.key
    quorum.append([b"may still come to the follower"])
    more = [b"more %d" % number for number in range(20)]
    end = quorum.append(more)
    _, epoch = quorum.leadership(world.leader)
    rack = world.rack_of("follower")
    options = ["--from", f"{end - 5}:{epoch}", "--replica-selector", "rack", "--rack", rack]
    assert consume(quorum, *options) == more[-5:]
    said = [
        (call.node_id, partition["errorCode"])
        for call in quorum.proxies.of("kraftlake")
        for partition in fetched(call)
        if partition["errorCode"]
    ]
    assert (lagging, ErrorCode.OFFSET_OUT_OF_RANGE) in said
