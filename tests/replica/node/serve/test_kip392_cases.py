"""The cases of KIP-392, each as a client meets it: what a leader and a follower answer over TCP
where their logs and high watermarks differ."""

import asyncio
from dataclasses import dataclass, field

import pytest

from replica.metadata.codec import encode
from replica.model.kafka_errors import ErrorCode
from replica.raft.inputs import Clean
from replica.raft.messages import FetchRequest
from replica.wire.apis.fetching import FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from tests.replica.metadata.image.made import topic
from tests.replica.node.running import (
    append,
    at,
    caught_up,
    client_of,
    fetched,
    quorum_of_three,
    the,
)

PATIENT = {"controller__quorum__fetch__timeout__ms": "60000"}
ONE_BATCH_EACH = {"controller__quorum__fetch__max__bytes": "1"}
"""A batch that is larger than a fetch asks for comes alone."""
METADATA = {
    "kraftlake__topic__name": None,
    "kraftlake__topic__id": None,
    "metadata__log__max__record__bytes__between__snapshots": "1",
    "metadata__max__retention__bytes": "0",
}


class Gate:
    """Lets no fetch of a follower through that tells that it holds the record at `above`."""

    def __init__(self, node, above):
        self.above = above
        self.carried = node.driver.call
        node.driver.call = self.call

    async def call(self, send):
        while isinstance(send.message, FetchRequest) and send.message.fetch_offset > self.above:
            await asyncio.sleep(0.01)
        return await self.carried(send)


def log_end(node):
    return node.driver.host.log.log_end


async def until(is_so):
    while not is_so():
        await asyncio.sleep(0.01)


async def uncommitted(leader, followers):
    """All three hold two records more than anybody knows to be committed."""
    await append(leader, b"committed")
    end = await caught_up(leader, followers)
    for node in followers:
        Gate(node, end)
    waiting = [asyncio.create_task(append(leader, b"waits", b"too"))]
    await until(lambda: all(log_end(node) == end + 2 for node in (leader, *followers)))
    return waiting


async def behind(leader, followers):
    """A follower knows of more that is committed than it holds."""
    await append(leader, b"committed")
    end = await caught_up(leader, followers)
    last = followers[0]
    gate = Gate(last, end)
    for number in range(4):
        await append(leader, b"%d" % number)
    gate.above = log_end(last)
    raft = last.driver.host.raft
    await until(lambda: (raft.leader_watermark or 0) == end + 4 > log_end(last))


async def trimmed(leader, followers):
    """A follower's log begins behind its leader's."""
    for number in range(4):
        await append(leader, encode(topic(f"t{number}", f"{number:021}A")))
        await caught_up(leader, followers)
    short = followers[0]
    await until(lambda: len(short.driver.host.raft.log.snapshots) > 1)
    short.driver.take(Clean(short.driver.host.log.size_bytes))
    assert short.driver.host.log.log_start > leader.driver.host.log.log_start == 0


WORLDS = {
    "uncommitted": (uncommitted, {}),
    "uncommitted, as released Kafka": (uncommitted, {"kraftlake__reader__uncommitted": "empty"}),
    "behind": (behind, ONE_BATCH_EACH),
    "trimmed": (trimmed, METADATA),
}


@dataclass(frozen=True)
class Case:
    """offset: of the node's log start, high watermark, log end or its leader's high watermark, and
    so much more. asked: more of the request. gives: records or none."""

    name: str
    world: str
    node: str
    offset: tuple[str, int]
    error: ErrorCode = ErrorCode.NONE
    gives: bool = False
    asked: dict = field(default_factory=dict)


CURRENT = "the leader's"
"""Epoch."""
NOT_AVAILABLE, OUT_OF_RANGE = ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.OFFSET_OUT_OF_RANGE
EMPTY = "uncommitted, as released Kafka"
CASES = [
    Case("committed, at the leader", "uncommitted", "leader", ("start", 0), gives=True),
    Case("committed, at a follower", "uncommitted", "follower", ("start", 0), gives=True),
    Case("caught up, at the leader", "uncommitted", "leader", ("committed", 0)),
    Case("caught up, at a follower", "uncommitted", "follower", ("committed", 0)),
    Case("1 uncommitted, at the leader", "uncommitted", "leader", ("committed", 1), NOT_AVAILABLE),
    Case("1 uncommitted, at a follower", "uncommitted", "follower", ("end", 0), NOT_AVAILABLE),
    Case("1 uncommitted, empty at the leader", EMPTY, "leader", ("committed", 1)),
    Case("1 uncommitted, empty at a follower", EMPTY, "follower", ("end", 0)),
    Case("2 unavailable, at a follower", "behind", "follower", ("end", 1), NOT_AVAILABLE),
    Case("2 unavailable, its last", "behind", "follower", ("leaders", 0), NOT_AVAILABLE),
    Case("2 unavailable there, at the leader", "behind", "leader", ("committed", -1), gives=True),
    Case("2 what the follower holds", "behind", "follower", ("end", -1), gives=True),
    Case("3 too small, at a follower", "trimmed", "follower", ("start", -1), OUT_OF_RANGE),
    Case("3 too small there, at the leader", "trimmed", "leader", ("start", 0), gives=True),
    Case("4 too large, at a follower", "behind", "follower", ("leaders", 1), OUT_OF_RANGE),
    Case("4 too large, at the leader", "uncommitted", "leader", ("end", 1), OUT_OF_RANGE),
    Case(
        "an older leader epoch, at the leader",
        "uncommitted",
        "leader",
        ("start", 0),
        ErrorCode.FENCED_LEADER_EPOCH,
        asked={"currentLeaderEpoch": 0},
    ),
    Case(
        "an older leader epoch, at a follower",
        "uncommitted",
        "follower",
        ("start", 0),
        ErrorCode.FENCED_LEADER_EPOCH,
        asked={"currentLeaderEpoch": 0},
    ),
    Case(
        "a newer leader epoch, at a follower",
        "uncommitted",
        "follower",
        ("start", 0),
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        asked={"currentLeaderEpoch": 99},
    ),
    Case(
        "a reader that names its last record's epoch",
        "uncommitted",
        "leader",
        ("committed", 0),
        asked={"lastFetchedEpoch": CURRENT},
    ),
]


def in_epoch(node, asked):
    """With the number of the epoch."""
    epoch = node.driver.host.raft.role.epoch
    return {key: epoch if value == CURRENT else value for key, value in asked.items()}


def facts(node):
    raft, log = node.driver.host.raft, node.driver.host.log
    return {
        "start": log.log_start,
        "committed": node.partition.committed,
        "end": log.log_end,
        "leaders": raft.leader_watermark,
    }


@dataclass(frozen=True)
class Lookup:
    """Of one offset, by ListOffsets or OffsetForLeaderEpoch. offset: as a case's, None for none."""

    name: str
    world: str
    node: str
    api: object
    request: dict
    asked: dict
    offset: tuple[str, int] | None
    error: ErrorCode = ErrorCode.NONE


def listed(name, world, node, timestamp, offset, error=ErrorCode.NONE):
    asked = {"timestamp": timestamp, "currentLeaderEpoch": -1}
    return Lookup(name, world, node, LIST_OFFSETS, {"replicaId": -1}, asked, offset, error)


def ended(name, node, replica_id, epoch, offset, error=ErrorCode.NONE, current=-1):
    asked = {"leaderEpoch": epoch, "currentLeaderEpoch": current}
    request = {"replicaId": replica_id}
    api = OFFSET_FOR_LEADER_EPOCH
    return Lookup(name, "uncommitted", node, api, request, asked, offset, error)


NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
LOOKUPS = [
    listed("latest is the high watermark", "uncommitted", "leader", -1, ("committed", 0)),
    listed("latest is the leader's to tell", "uncommitted", "follower", -1, None, NOT_LEADER),
    listed("earliest of the leader", "trimmed", "leader", -2, ("start", 0)),
    listed("earliest of the follower that is read", "trimmed", "follower", -2, ("start", 0)),
    listed("newest that is committed", "uncommitted", "leader", -3, ("committed", -1)),
    listed("nothing committed is so new", "uncommitted", "leader", 2**60, None),
    ended("an epoch's end for a consumer", "leader", -1, CURRENT, ("committed", 0)),
    ended("an epoch's end for a replica", "leader", 2, CURRENT, ("end", 0)),
    ended("an epoch that nobody knows", "leader", -1, 99, None),
    ended("an epoch's end is the leader's to tell", "follower", -1, CURRENT, None, NOT_LEADER),
    ended(
        "by an older leader epoch", "leader", -1, CURRENT, None, ErrorCode.FENCED_LEADER_EPOCH, 0
    ),
    ended(
        "by a newer leader epoch", "leader", -1, CURRENT, None, ErrorCode.UNKNOWN_LEADER_EPOCH, 99
    ),
]


async def looked_up(node, lookup):
    topics = at(lookup.api, node.settings.topic, **in_epoch(node, lookup.asked))
    async with client_of(node) as client:
        answer = await client.call(lookup.api, {**lookup.request, "topics": topics})
    return the(answer.message["topics"])


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Name of a case or lookup -> (what the node knew of itself, its answer)."""

    async def of_world(world):
        bring_about, settings = WORLDS[world]
        folder, found = tmp_path_factory.mktemp("kip392"), {}
        async with quorum_of_three(folder, **PATIENT, **settings) as (leader, followers):
            waiting = await bring_about(leader, followers)
            for case in (each for each in (*CASES, *LOOKUPS) if each.world == world):
                node = leader if case.node == "leader" else followers[0]
                known = facts(node)
                if isinstance(case, Lookup):
                    found[case.name] = known, await looked_up(node, case)
                else:
                    offset = known[case.offset[0]] + case.offset[1]
                    found[case.name] = (
                        known,
                        await fetched(node, offset, 18, **in_epoch(node, case.asked)),
                    )
            for task in waiting or ():
                task.cancel()
        return found

    async def of_all():
        found = {}
        for world in WORLDS:
            async with asyncio.timeout(60):
                found |= await of_world(world)
        return found

    return asyncio.run(of_all())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_reader_gets_the_answer_of_kip_392_for_its_offset(answers, case):
    known, answer = answers[case.name]
    assert ErrorCode(answer["errorCode"]) == case.error
    assert bool(answer["records"]) == case.gives
    assert answer["logStartOffset"] == known["start"]
    assert answer["highWatermark"] == answer["lastStableOffset"] == known["committed"]


@pytest.mark.parametrize("lookup", LOOKUPS, ids=lambda lookup: lookup.name)
def test_consumers_look_up_offsets_among_committed_records(answers, lookup):
    known, answer = answers[lookup.name]
    assert ErrorCode(answer["errorCode"]) == lookup.error
    found = answer["endOffset" if lookup.api is OFFSET_FOR_LEADER_EPOCH else "offset"]
    assert found == (-1 if lookup.offset is None else known[lookup.offset[0]] + lookup.offset[1])


def test_an_offset_that_a_lagging_follower_calls_too_large_is_valid_by_the_leader(answers):
    """Case 4: the reader takes the error to the leader, by OffsetForLeaderEpoch."""
    asked, _ = answers["4 too large, at a follower"]
    there, _ = answers["2 unavailable there, at the leader"]
    assert asked["committed"] < there["committed"] == asked["leaders"]


def replica_fetch(node, offset, **known):
    """Of an observer, which names its cluster."""
    epoch = node.driver.host.raft.role.epoch
    partition = {
        **{"fetchOffset": offset, "currentLeaderEpoch": epoch, "lastFetchedEpoch": epoch},
        **{"partitionMaxBytes": 1 << 20, "replicaDirectoryId": "B" * 21 + "A", **known},
    }
    return {
        "clusterId": node.replica.cluster_id,
        "replicaId": 9,
        "replicaState": {"replicaId": 9},
        "maxWaitMs": 60_000,
        "topics": at(FETCH, node.settings.topic, **partition),
    }


@pytest.mark.parametrize("behind", [0, 1])
def test_a_replica_that_knows_an_older_high_watermark_or_none_is_answered_at_once(tmp_path, behind):
    async def story():
        async with asyncio.timeout(30), quorum_of_three(tmp_path) as (leader, followers):
            await append(leader, b"x")
            end = await caught_up(leader, followers)
            known = end - 1 if behind else -1
            async with client_of(leader) as client:
                request = replica_fetch(leader, end, highWatermark=known)
                answer = the((await client.call(FETCH, request, 18)).message["responses"])
            assert (answer["errorCode"], answer["records"] or b"") == (0, b"")
            assert answer["highWatermark"] == end

    asyncio.run(story())


def test_a_replica_that_knows_the_high_watermark_waits_until_it_moves(tmp_path):
    async def story():
        async with asyncio.timeout(30), quorum_of_three(tmp_path) as (leader, followers):
            end = await caught_up(leader, followers)
            async with client_of(leader) as client:
                request = replica_fetch(leader, end, highWatermark=end)
                waiting = asyncio.create_task(client.call(FETCH, request, 18))
                await asyncio.sleep(0.1)
                assert not waiting.done()
                await append(leader, b"x")
                answer = the((await waiting).message["responses"])
                assert answer["records"]
                assert answer["highWatermark"] == end

    asyncio.run(story())
