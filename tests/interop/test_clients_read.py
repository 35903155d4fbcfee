"""Kafka's clients reading from a chosen replica of a kraftlake quorum: all that is committed, and
nothing else, though every replica holds more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from replica.format.record import records_of
from replica.format.segment import scan
from tests.interop.client_matrix import hold_to_matrix
from tests.interop.reader_quorum import (
    METADATA_TOPIC,
    ORDERS,
    ReaderQuorum,
    Topic,
    is_acknowledgement,
    reader_quorum,
)
from tests.interop.reading_clients import CLIENTS, CONFLUENT, KAFKA_PYTHON, Client, Reading

COMMITTED = 100
FROM_KAFKA = "kafka-4.1.1-dynamic/final/1/__cluster_metadata-0/00000000000000000000.log"
FOREVER_MS = 600_000


@dataclass(frozen=True)
class World:
    """Every node holds `committed` and more that nobody may read; `end` is the high watermark."""

    quorum: ReaderQuorum
    committed: list[bytes]
    end: int
    leader: int
    follower: int

    def reading(self, client_id: str, rack: str, isolation: str = "read_committed") -> Reading:
        return Reading(self.quorum.bootstrap, self.quorum.topic.name, client_id, rack, isolation)


def values_for(topic: Topic, data: Path) -> list[bytes]:
    """Opaque ones, or metadata records as Kafka wrote them."""
    if not topic.is_metadata:
        return [b"value %d" % number for number in range(COMMITTED + 5)]
    segment = (data / FROM_KAFKA).read_bytes()
    found = [
        record.value
        for batch in scan(segment).batches
        if not batch.header.is_control
        for record in records_of(
            batch.header, segment[batch.position : batch.position + batch.header.size_bytes]
        )
    ]
    return [value for value in found[: COMMITTED + 5] if value is not None]


@pytest.fixture(scope="module", params=[ORDERS, METADATA_TOPIC], ids=lambda topic: topic.name)
def world(
    request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    topic = request.param
    values = values_for(topic, data)
    committed, uncommitted = values[:COMMITTED], values[COMMITTED:]
    folder = tmp_path_factory.mktemp("readers")
    patient = {"controller__quorum__fetch__timeout__ms": FOREVER_MS}
    with reader_quorum(folder, topic, **patient) as quorum:
        end = quorum.append(committed)
        quorum.replicated(end)
        quorum.proxies.held = lambda call: is_acknowledgement(call, end)
        quorum.append(uncommitted, is_committed=False)
        for node in quorum.nodes.values():
            quorum.wait_until(lambda node=node: node.log_end > end, "not replicated")  # type: ignore[misc]
            assert node.values[:COMMITTED] == committed
            assert node.values[COMMITTED:] == uncommitted
            assert node.high_watermark == end
        leader, followers = quorum.leader(), quorum.followers()
        yield World(quorum, committed, end, leader, followers[0])


def clients(*chosen: Client) -> list[object]:
    return [
        pytest.param(client, id=client.name, marks=[pytest.mark.slow] if client.is_slow else [])
        for client in chosen
    ]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("client", clients(*CLIENTS))
def test_a_follower_gives_all_that_is_committed_and_nothing_else(
    world: World, client: Client, isolation: str
) -> None:
    before = world.quorum.fetches()
    client_id = f"{client.name}-{isolation}".replace(" ", "-")
    read = client.read(world.reading(client_id, f"rack-{world.follower}", isolation))
    assert read.values == world.committed
    assert read.position == world.end
    assert set(world.quorum.served(client_id)) == {world.follower}
    after = world.quorum.fetches()
    assert [node for node in after if after[node] > before[node]] == [world.follower]
    hold_to_matrix(client, world.quorum.proxies.of(client_id))


@pytest.mark.parametrize("client", clients(CONFLUENT, KAFKA_PYTHON))
def test_so_does_the_leader(world: World, client: Client) -> None:
    client_id = f"{client.name}-at-the-leader"
    read = client.read(world.reading(client_id, f"rack-{world.leader}"))
    assert (read.values, read.position) == (world.committed, world.end)
    assert set(world.quorum.served(client_id)) == {world.leader}
