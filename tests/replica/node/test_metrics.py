"""What Prometheus gets from a running node, and what it gets in the middle of its end."""

import asyncio
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from replica.errors import UsageError
from replica.model.keys import ReplicaKey
from replica.raft.messages import FetchRequest
from replica.raft.mistakes import Mistake
from replica.wire.apis.fetching import LIST_OFFSETS
from tests.replica.node.running import append, at, client_of, free_port, leads, running

VOTERS = "controller__quorum__voters"
ILLEGAL_MESSAGES = "kraftlake_raft_illegal_messages_total"


async def scraped(port):
    """Samples by name, those with labels by name and labels' values."""

    def read():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return answer.read().decode()

    text = await asyncio.to_thread(read)
    return {
        (sample.name, *sample.labels.values()) if sample.labels else sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_leader_tells_its_role_its_log_and_how_long_its_commits_took(tmp_path):
    async def scenario():
        port = free_port()
        address = {"kraftlake__metrics__listener": f"127.0.0.1:{port}"}
        async with running(tmp_path, **address) as node:
            await leads(node)
            await append(node, b"one", b"two")
            await append(node, b"three")
            async with client_of(node) as client:
                await client.call(
                    LIST_OFFSETS, {"replicaId": -1, "topics": at(LIST_OFFSETS, timestamp=-1)}, 1
                )
                return node, await scraped(port)

    node, found = asyncio.run(scenario())
    log = node.driver.host.raft.log
    assert found["kraftlake_raft_state", "leader"] == 1
    assert sum(value for name, value in found.items() if name[0] == "kraftlake_raft_state") == 1
    assert found["kraftlake_raft_current_leader"] == found["kraftlake_raft_current_vote"] == 1
    assert found["kraftlake_raft_high_watermark"] == found["kraftlake_raft_log_end_offset"] == 4
    assert found["kraftlake_raft_current_epoch"] == log.last_epoch
    assert found["kraftlake_raft_elections_total"] == 1
    assert found["kraftlake_raft_append_latency_seconds_count"] == 2
    assert found["kraftlake_applied_end_offset"] == node.driver.host.machine.next_offset > 0
    assert found["kraftlake_raft_log_size_bytes"] == node.driver.host.log.size_bytes > 0
    assert found["kraftlake_requests_total", "ListOffsets"] == 1
    assert found["kraftlake_connections", "CONTROLLER"] == 1
    assert found["process_resident_memory_bytes"] > 0


def test_messages_that_no_correct_peer_sends_are_counted_by_what_is_wrong(tmp_path):
    """Not by their senders: a message names its sender itself."""

    async def scenario():
        port = free_port()
        async with running(tmp_path, kraftlake__metrics__listener=f"127.0.0.1:{port}") as node:
            await leads(node)
            epoch = node.driver.raft.role.epoch
            for sender in (7, 8):
                peer = ReplicaKey(sender)
                fetch = FetchRequest(
                    epoch=epoch, replica=peer, fetch_offset=-1, last_fetched_epoch=0
                )
                await node.driver.ask(fetch)
            return await scraped(port)

    found = asyncio.run(scenario())
    counts = {key[1]: n for key, n in found.items() if key[0] == ILLEGAL_MESSAGES}
    assert set(counts) == {mistake.name.lower() for mistake in Mistake}
    assert counts["fetch_numbers"] == sum(counts.values()) == 2


def test_a_leader_tells_how_far_each_voter_is_behind(tmp_path):
    async def scenario():
        ports = free_port(), free_port()
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in enumerate(ports, start=1))
        metrics = free_port()
        more = {VOTERS: voters, "kraftlake__metrics__listener": f"127.0.0.1:{metrics}"}
        async with running(tmp_path, 1, ports[0], **more) as one:
            more["kraftlake__metrics__listener"] = None
            async with running(tmp_path, 2, ports[1], **more) as two:
                while {one.partition.leads, two.partition.leads} != {True, False}:
                    await one.driver.wait_for_news(0.05)
                leader, other = (one, two) if one.partition.leads else (two, one)
                await leads(leader)
                await append(leader, b"value")
                while other.driver.host.raft.log.log_end < leader.driver.host.raft.log.log_end:
                    await other.driver.wait_for_news(0.05)
                return leader is one, await scraped(metrics)

    is_leader, found = asyncio.run(scenario())
    behind = {name: value for name, value in found.items() if "replica_lag" in name[0]}
    assert found["kraftlake_raft_number_of_voters"] == 2
    if is_leader:
        (labels,) = behind
        assert {"2", "voter"} < set(labels)
    else:
        assert behind == {}
        assert found["kraftlake_raft_current_leader"] == 2


def test_an_address_that_is_taken_is_named(tmp_path):
    async def scenario():
        port = free_port()
        taken = {"kraftlake__metrics__listener": f"127.0.0.1:{port}"}
        async with running(tmp_path, 1, port, **taken):
            pass

    with pytest.raises(UsageError, match=r"kraftlake.metrics.listener: 127.0.0.1:\d+: Address"):
        asyncio.run(scenario())


def test_a_node_stops_while_its_metrics_are_scraped(tmp_path):
    async def scenario():
        port = free_port()
        async with running(tmp_path, kraftlake__metrics__listener=f"127.0.0.1:{port}") as node:
            await leads(node)

            async def scrape():
                while True:
                    try:
                        await scraped(port)
                    except OSError:
                        return

            scraping = asyncio.create_task(scrape())
            await asyncio.sleep(0.05)
        await asyncio.wait_for(scraping, 30)

    asyncio.run(asyncio.wait_for(scenario(), 60))
