"""What an observer tells Prometheus about a quorum of kraftlake's voters, over TCP."""

import asyncio
import time

import pytest

from replica.doctor.check.catalogue import HEALTH_RULES
from replica.doctor.watching import judged, watch
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.node import readiness
from tests.replica.consumer.quorum import running as quorum_running
from tests.replica.doctor.watching.quorum import (
    broker,
    page,
    scraped,
    scraped_until,
    topic_with_partition,
    watched,
)
from tests.replica.node.observer.recording import (
    SMALL_SNAPSHOTS,
    leading,
    played,
    recorded,
    write_topics,
)

SUBJECTS = "kraftlake_health_subjects"


def rule(rule_id):
    severity = next(each.severity.value for each in HEALTH_RULES if each.id == rule_id)
    return SUBJECTS, rule_id, severity


UNLED = rule("partition-without-leader")


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """What is looked at every few seconds is looked at all the time."""
    monkeypatch.setattr(watch, "DESCRIBE_EVERY_S", 0.1)
    monkeypatch.setattr(watch, "SNAPSHOT_EVERY_S", 0.1)
    monkeypatch.setattr(judged, "EVERY_S", 0.05)


def test_an_observer_tells_what_the_leader_knows_of_each_replica(tmp_path):
    async def story():
        async with quorum_running(tmp_path, voters=3, topic_id=None) as quorum:
            await quorum.append(broker(1), broker(2), *topic_with_partition(1))
            async with watched(tmp_path, *quorum.bootstrap) as (recorder, _, port):
                own = recorder.node.replica.key
                lag = ("kraftlake_quorum_replica_lag", own.directory_id, "observer")
                found = await scraped_until(
                    port,
                    lambda found: found.get((*lag, str(own.node_id))) == 0 and UNLED in found,
                )
                raft = quorum.nodes[await quorum.leader()].driver.host.raft
                truth = raft.role.leader_id, raft.role.epoch, raft.high_watermark
                return found, truth, await asyncio.to_thread(page, port, "/readyz")

    found, truth, ready = played(story)
    told = ("leader", "epoch", "high_watermark")
    assert tuple(found[f"kraftlake_quorum_{name}"] for name in told) == truth
    assert found["kraftlake_raft_high_watermark"] == truth[2]
    assert found["kraftlake_quorum_voters"] == 3
    lags = {name for name in found if name[0] == "kraftlake_quorum_replica_lag"}
    assert sorted(name[3] for name in lags if name[2] == "voter") == ["1", "2", "3"]
    ages = [v for name, v in found.items() if name[0].endswith("last_fetch_age_seconds")]
    assert len(ages) == 4
    assert all(0 <= age < 30 for age in ages)
    health = {name[1]: value for name, value in found.items() if name[0] == SUBJECTS}
    assert set(health) == {each.id for each in HEALTH_RULES}
    assert health["even-voters"] == health["partition-without-leader"] == 0
    assert found["kraftlake_ready"] == found["kraftlake_watching"] == 1
    assert ready == (200, "ok\n")


def test_rules_of_health_are_judged_as_records_come_in(tmp_path):
    async def story():
        async with leading(tmp_path) as node:
            first = [broker(1), broker(2), *topic_with_partition(1), *topic_with_partition(2)]
            for value in first:
                await node.driver.append(_append(node, value))
            (address,) = [("127.0.0.1", node.settings.listeners[0].port)]
            async with watched(tmp_path, address) as (_, __, port):
                before = await scraped_until(port, lambda found: UNLED in found)
                for number in (1, 2):
                    change = {"partitionId": 0, "topicId": f"{number:021}A", "leader": -1}
                    record = new_record("PARTITION_CHANGE_RECORD", 0, change)
                    await node.driver.append(_append(node, encode(record)))
                worse = await scraped_until(port, lambda found: found[UNLED] == 2)
                await write_topics(node, 100, 3)
                later = await scraped_until(
                    port, lambda found: found.get(("kraftlake_log_records_total", "TOPIC_RECORD"))
                    == 3,
                )  # fmt: skip
                return before, worse, later

    before, worse, later = played(story)
    assert before[UNLED] == 0
    assert ("kraftlake_log_records_total", "TOPIC_RECORD") not in before
    assert worse["kraftlake_log_records_total", "PARTITION_CHANGE_RECORD"] == 2
    assert worse["kraftlake_log_record_bytes_total", "PARTITION_CHANGE_RECORD"] > 40
    assert worse["kraftlake_health_offset"] <= worse["kraftlake_raft_log_end_offset"]
    assert later[UNLED] == 2


def test_the_state_begins_with_the_snapshot_and_its_age_is_told(tmp_path):
    async def story():
        async with leading(tmp_path, **SMALL_SNAPSHOTS) as node:
            for value in (broker(1), *topic_with_partition(1, leader=-1, isr=(1,))):
                await node.driver.append(_append(node, value))
            await write_topics(node, 10, 10)
            newest = node.driver.host.log.snapshots.newest
            address = "127.0.0.1", node.settings.listeners[0].port
            async with watched(tmp_path, address) as (recorder, _, port):
                await recorded(recorder, node.driver.host.raft.high_watermark)
                first = await scraped_until(
                    port,
                    lambda found: (
                        UNLED in found and "kraftlake_quorum_snapshot_age_seconds" in found
                    ),
                )
                await write_topics(node, 30, 10)
                newer = node.driver.host.log.snapshots.newest
                last = await scraped_until(
                    port,
                    lambda found: found["kraftlake_quorum_snapshot_end_offset"] >= newer.offset,
                )
                return newest, first, newer, last

    newest, first, newer, last = played(story)
    assert first["kraftlake_quorum_snapshot_end_offset"] == newest.offset > 0
    assert first["kraftlake_raft_log_start_offset"] == newest.offset
    assert first[UNLED] == 1
    assert 0 <= first["kraftlake_quorum_snapshot_age_seconds"] < 60
    assert newer.offset > newest.offset
    assert last["kraftlake_raft_latest_snapshot_end_offset"] == newest.offset


def test_a_record_of_a_newer_release_is_counted_and_the_state_told_as_not_whole(tmp_path):
    async def story():
        async with leading(tmp_path) as node:
            await write_topics(node, 0, 2)
            address = "127.0.0.1", node.settings.listeners[0].port
            async with watched(tmp_path, address) as (_, __, port):
                await scraped_until(port, lambda found: UNLED in found)
                await node.driver.append(_append(node, b"\x01\x7f\x00"))
                await write_topics(node, 10, 2)
                return await scraped_until(port, lambda found: found[rule("state-not-whole")] == 1)

    found = played(story)
    assert found["kraftlake_log_records_total", "UNKNOWN_RECORD"] == 1
    assert found["kraftlake_health_offset"] < found["kraftlake_raft_high_watermark"]


def test_a_quorum_without_majority_is_told_within_bounded_time(tmp_path, monkeypatch):
    monkeypatch.setattr(readiness.Readiness.__init__, "__defaults__", (1.0,))

    async def story():
        async with quorum_running(tmp_path, voters=3, topic_id=None) as quorum:
            await quorum.append(broker(1))
            async with watched(tmp_path, *quorum.bootstrap) as (_, __, port):
                await scraped_until(port, lambda found: found["kraftlake_ready"] == 1)
                for _ in range(2):
                    await quorum.stop(await quorum.leader())
                    if len(quorum.nodes) == 2:
                        await quorum.leader()
                times = []

                def wedged(found):
                    return found["kraftlake_wedged", "no-leader"] == 1

                async with asyncio.timeout(30):
                    found = {("kraftlake_wedged", "no-leader"): 0}
                    while not wedged(found):
                        began = time.monotonic()
                        found = await scraped(port)
                        times.append(time.monotonic() - began)
                        await asyncio.sleep(0.02)
                pages = [await asyncio.to_thread(page, port, f"/{path}") for path in PROBES]
                return found, times, pages

    found, times, (healthy, ready) = played(story)
    assert max(times) < 2
    assert found["kraftlake_ready"] == 0
    assert ready[0] == 503
    assert ready[1].startswith("no-leader: for ")
    assert healthy[0] == 200
    assert "no-leader: for " in healthy[1]


PROBES = ("healthz", "readyz")


def test_a_change_of_the_leader_is_counted_with_the_time_that_it_took(tmp_path):
    async def story():
        async with quorum_running(tmp_path, voters=3, topic_id=None) as quorum:
            await quorum.append(broker(1))
            async with watched(tmp_path, *quorum.bootstrap) as (recorder, _, port):
                await scraped_until(port, lambda found: found["kraftlake_ready"] == 1)
                await quorum.stop(await quorum.leader())
                await quorum.append(broker(2))
                leader = quorum.nodes[await quorum.leader()].driver.host.raft
                await recorded(recorder, leader.high_watermark)
                return await scraped_until(
                    port, lambda found: found["kraftlake_quorum_epoch"] == leader.role.epoch
                )

    found = played(story)
    assert found["kraftlake_leader_changes_total"] == 1
    assert found["kraftlake_leader_epochs_total"] >= 1
    assert found["kraftlake_leader_change_duration_seconds_count"] == 1
    assert 0 < found["kraftlake_leader_change_duration_seconds_sum"] < 60


def _append(node, value):
    from replica.raft.inputs import Append

    return Append(node.driver.host.raft.role.epoch, (value,))
