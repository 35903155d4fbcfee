"""Requests that change ten partitions of a large cluster, each answered when the records are
committed: a Produce of ten records, as kraftlake's administrator sends it, and an AlterPartition of
ten partitions, as a Kafka broker sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from replica.format.whole_batch import value_batch
from replica.model.kafka_errors import ErrorCode
from replica.wire.apis.writing import PRODUCE
from replica.wire.schema import Api, Message, api, field, structs
from tests.bench.partition_changes import AT_ONCE, changes
from tests.bench.start import TOPIC_PARTITIONS

TOPIC = "__cluster_metadata"
BROKERS, REPLICAS = 30, 3
_BY_NAME = 12
"""The newest version of Produce that gives the topic by its name."""
_PLACE = (field("partitionIndex", "int32"),)
_STATE = (field("leaderRecoveryState", "int8"), field("partitionEpoch", "int32"))
ALTER_PARTITION = api(
    "AlterPartition",
    56,
    (3, 3),
    flexible_since=0,
    request=(
        field("brokerId", "int32"),
        field("brokerEpoch", "int64"),
        structs(
            "topics",
            field("topicId", "uuid"),
            structs(
                "partitions",
                *_PLACE,
                field("leaderEpoch", "int32"),
                structs("newIsr", field("brokerId", "int32"), field("brokerEpoch", "int64")),
                *_STATE,
            ),
        ),
    ),
    response=(
        field("throttleTimeMs", "int32"),
        field("errorCode", "int16"),
        structs(
            "topics",
            field("topicId", "uuid"),
            structs(
                "partitions",
                *_PLACE,
                field("errorCode", "int16"),
                field("leaderId", "int32"),
                field("leaderEpoch", "int32"),
                field("isr", "[]int32"),
                *_STATE,
            ),
        ),
    ),
)


@dataclass(frozen=True)
class Request:
    """A request. connection: the number of the connection that sends it. errors: a function that
    gives the error codes in an answer to it."""

    connection: int
    api: Api
    version: int
    message: Message
    errors: Callable[[Message], list[int]]


def epoch_of(broker_id: int) -> int:
    """The broker epoch of a broker: the offset of its registration."""
    return broker_id + 1


def produces(partitions: int) -> Iterator[Request]:
    made, chance = changes(partitions), Random(1)

    def errors(answer: Message) -> list[int]:
        (partition,) = answer["responses"][0]["partitionResponses"]
        return [partition["errorCode"]]

    while True:
        records = value_batch(0, 0, 1000, [next(made) for _ in range(AT_ONCE)])
        entry = {"name": TOPIC, "partitionData": [{"index": 0, "records": records}]}
        message = {"acks": -1, "timeoutMs": 30_000, "topicData": [entry]}
        yield Request(chance.randrange(BROKERS), PRODUCE, _BY_NAME, message, errors)


def altered_partitions(partitions: int) -> Iterator[Request]:
    """Requests of AlterPartition without end. A request changes ten partitions that one broker
    leads. For each partition it takes the last replica out of the ISR, or puts it back if it is
    out."""
    chance = Random(1)
    known: dict[tuple[str, int], tuple[int, int, int]] = {}
    """Leader epoch, partition epoch and size of the ISR, of partitions that have changed."""
    asked: set[tuple[str, int]] = set()

    def errors(answer: Message) -> list[int]:
        found = [answer["errorCode"]]
        for topic in answer["topics"]:
            for each in topic["partitions"]:
                found.append(each["errorCode"])
                if each["errorCode"] == ErrorCode.NONE:
                    state = each["leaderEpoch"], each["partitionEpoch"], len(each["isr"])
                    known[topic["topicId"], each["partitionIndex"]] = state
                    asked.discard((topic["topicId"], each["partitionIndex"]))
        return found

    while True:
        leader, topics = chance.randrange(BROKERS), []
        while len(topics) < AT_ONCE:
            number = chance.randrange(partitions // TOPIC_PARTITIONS)
            row = chance.randrange(TOPIC_PARTITIONS // BROKERS)
            place = f"{number:021}A", (leader - number) % BROKERS + BROKERS * row
            if place in asked:
                continue
            asked.add(place)
            leader_epoch, epoch, size = known.get(place, (5, 7, REPLICAS))
            size = REPLICAS if size < REPLICAS else REPLICAS - 1
            isr = [(leader + n) % BROKERS for n in range(size)]
            entry = {
                "partitionIndex": place[1],
                "leaderEpoch": leader_epoch,
                "newIsr": [{"brokerId": n, "brokerEpoch": epoch_of(n)} for n in isr],
                "partitionEpoch": epoch,
            }
            topics.append({"topicId": place[0], "partitions": [entry]})
        message = {"brokerId": leader, "brokerEpoch": epoch_of(leader), "topics": topics}
        yield Request(leader, ALTER_PARTITION, 3, message, errors)
