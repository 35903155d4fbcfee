"""Changes as records of a Kafka topic, exactly once for readers with read_committed.

It works as Kafka Connect's exactly-once sources do (KIP-618): one transaction writes records and,
to a compacted topic, the progress. A publisher that comes back first ends the open transaction of
its predecessor, which has the same transactional.id (KIP-98), and then reads the progress.
"""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice

from confluent_kafka import KafkaError, KafkaException, Producer

from pipelines.feeds import message
from pipelines.feeds.held_interrupts import held_interrupts
from pipelines.feeds.kafka_topics import KafkaCluster
from pipelines.feeds.values import Feed, FeedPosition, FeedProgress, RowChange
from replica.errors import (
    AuthenticationError,
    DataError,
    PeerError,
    UnreachablePeerError,
    UsageError,
)

TRANSACTION_RECORDS = 5_000
_Headers = dict[str, str | bytes | None]

_ATTEMPTS = 5
_TIMEOUT_S, _COMMIT_S = 30.0, 120.0
_OURS = {
    "enable.idempotence": "true",
    "acks": "all",
    # Java's clients put the same key onto the same partition
    "partitioner": "murmur2_random",
}
"""Properties that a user may not set, because exactly-once and the order of a key depend on them. A
user may not set transactional.id either, which keeps every other publisher out."""
_OUT_OF_RANGE = re.compile(r"value \S+ is outside")
_LONG_VALUE = 8
"""A value of this many characters is not in another text by chance."""


@dataclass(frozen=True)
class KafkaDestination:
    """The topics to publish to, and the cluster."""

    topic: str
    progress_topic: str
    properties: Mapping[str, str] = field(repr=False)
    """librdkafka's properties, with bootstrap.servers."""

    def __post_init__(self) -> None:
        for name in ("transactional.id", *_OURS):
            if name in self.properties:
                raise UsageError(f"{name}: kraftlake sets it itself; leave it out")
        if self.topic == self.progress_topic:
            raise UsageError(f"--progress-topic {self.topic}: name another topic than --topic")

    @property
    def servers(self) -> str:
        """The value of the property bootstrap.servers, which messages show, too."""
        return self.properties["bootstrap.servers"]


class KafkaTarget:
    """A Kafka topic as the target. `kafka_target` makes it."""

    def __init__(
        self,
        to: KafkaDestination,
        feed: Feed,
        table_id: str,
        producer: Producer,
        cluster: KafkaCluster,
    ) -> None:
        self.name = f"topic {to.topic}"
        self._to = to
        self._feed = feed
        self._table_id = table_id
        self._producer = producer
        self._cluster = cluster
        self._key = message.compact({"topic": to.topic, "table": feed.name})

    def progress(self) -> FeedProgress | None:
        kept = self._cluster.newest_value(self._to.progress_topic, self._key)
        if kept is None:
            return None
        try:
            return FeedProgress.from_json(json.loads(kept))
        except (ValueError, RecursionError, DataError) as error:
            raise DataError(f"topic {self._to.progress_topic} holds what is no progress") from error

    def keep(self, position: FeedPosition) -> None:
        self._transaction([], position)

    def publish(self, start: FeedPosition, changes: Iterable[RowChange]) -> int:
        left = islice(changes, start.ordinal, None)
        count = 0
        while True:
            taken = list(islice(left, TRANSACTION_RECORDS))
            count += len(taken)
            is_end = len(taken) < TRANSACTION_RECORDS
            following = replace(start, ordinal=start.ordinal + count)
            position = start.following if is_end else following
            self._transaction(taken, position)
            if is_end:
                return count

    def _transaction(self, changes: list[RowChange], position: FeedPosition) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._attempt(changes, position)
                return
            except KafkaException as error:
                if not error.args[0].txn_requires_abort() or attempt == _ATTEMPTS:
                    raise
                self._producer.abort_transaction(_TIMEOUT_S)

    def _attempt(self, changes: list[RowChange], position: FeedPosition) -> None:
        self._producer.begin_transaction()
        try:
            with held_interrupts() as let_through:
                self._produce_all(changes, position, let_through)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._STATE:
                self._commit()  # the transaction has failed: the commit raises the reason
            raise
        self._commit()

    def _produce_all(
        self, changes: Iterable[RowChange], position: FeedPosition, while_full: Callable[[], None]
    ) -> None:
        """Gives the changes, and the position as progress, to the producer. while_full: is called
        while the producer's queue has no room."""
        for change in changes:
            headers: _Headers = {
                "table": self._feed.name,
                "version": str(change.version),
                "ordinal": str(change.ordinal),
                "op": change.op,
            }
            value = message.value(self._feed, change)
            key = message.key(self._feed, change)
            self._produce(self._to.topic, key, value, headers, while_full)
        progress = FeedProgress(self._feed.name, self._table_id, position).to_json()
        kept = message.compact(progress)
        self._produce(self._to.progress_topic, self._key, kept, {}, while_full)

    def _produce(
        self,
        topic: str,
        key: bytes,
        value: bytes,
        headers: _Headers,
        while_full: Callable[[], None],
    ) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, headers=headers)
                return
            except BufferError:  # the queue is full: send first
                self._producer.poll(0.1)
                while_full()

    def _commit(self) -> None:
        deadline = time.monotonic() + _COMMIT_S
        while True:
            try:
                self._producer.commit_transaction(_TIMEOUT_S)
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise


@contextmanager
def kafka_target(to: KafkaDestination, feed: Feed, table_id: str) -> Iterator[KafkaTarget]:
    """Opens the topics of the destination as the target of a feed. Missing topics are created with
    the cluster's defaults; the topic that keeps the progress is created as a compacted topic.

    Raises UsageError for a property or topic that can't be used, PeerError where the cluster
    refuses or another publisher took over, UnreachablePeerError where no broker answers.
    """
    heard = deque[KafkaError](maxlen=20)
    try:
        cluster = KafkaCluster(to.properties, heard.append)
        cluster.make_topics(to.topic, to.progress_topic)
        producer = Producer(
            {
                **cluster.properties,
                **_OURS,
                "transactional.id": f"kraftlake-publish.{feed.name}.{to.topic}",
            }
        )
        producer.init_transactions(_TIMEOUT_S)
        try:
            yield KafkaTarget(to, feed, table_id, producer, cluster)
        finally:
            # readers wait at an open transaction; without one, the abort raises an error
            with suppress(KafkaException):
                producer.abort_transaction(_TIMEOUT_S)
    except KafkaException as error:
        raise _translated(to, error.args[0], heard) from error


def _translated(
    to: KafkaDestination, error: KafkaError, heard: Iterable[KafkaError]
) -> PeerError | UsageError:
    """The error as a PeerError or UsageError. heard: librdkafka's messages until then, which say
    why no broker answered."""
    servers, code, text = to.servers, error.code(), _without_values(error.str(), to.properties)
    if code == KafkaError._INVALID_ARG:
        return UsageError(f"{text}; see --producer-config and -X")
    if code in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH):
        return PeerError(servers, "another kraftlake publish took over this table and topic")
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return PeerError(
            servers,
            f"{text}: raise max.message.bytes of the topic, and say -X message.max.bytes=BYTES",
        )
    if code not in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
        return PeerError(servers, text)
    if any(told.code() == KafkaError._AUTHENTICATION for told in heard):
        return AuthenticationError(servers, "authentication failed; see --producer-config and -X")
    why = [told.str() for told in heard if told.code() != KafkaError._ALL_BROKERS_DOWN]
    return UnreachablePeerError(servers, _without_values(why[-1], to.properties) if why else text)


def _without_values(text: str, properties: Mapping[str, str]) -> str:
    """librdkafka's text in one line, without the values of properties other than bootstrap.servers:
    a user may have given a password as the value of a wrong property. librdkafka writes a value
    between quotes, at the end, or as a number in its own form. A long value is hidden wherever it
    is."""
    text = _OUT_OF_RANGE.sub("value *** is outside", " ".join(text.split()))
    for name, value in properties.items():
        if not value or name == "bootstrap.servers":
            continue
        text = text.replace(f'"{value}"', '"***"')
        if text.endswith(f": {value}"):
            text = f"{text.removesuffix(value)}***"
        if len(value) >= _LONG_VALUE:
            text = text.replace(value, "***")
    return text
