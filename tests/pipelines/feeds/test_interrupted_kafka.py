"""An interrupt while changes are handed to librdkafka stays an interrupt.

The broker is the one that librdkafka brings along (test.mock.num.brokers); tests/interop/ and
tests/soak/ publish to Kafka.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import pytest
from confluent_kafka import KafkaException, Producer

from pipelines.feeds.held_interrupts import held_interrupts
from pipelines.feeds.kafka import KafkaDestination, KafkaTarget
from pipelines.feeds.values import FEEDS, FeedPosition, RowChange
from tests.pipelines.feeds.feed_table import CHANGES, change

_INTERRUPTS = 120


@pytest.fixture(scope="module")
def producer() -> Producer:
    """Its queue has room for less than a transaction, so it is full in each."""
    producer = Producer(
        {
            "test.mock.num.brokers": "1",
            "transactional.id": "publisher",
            "queue.buffering.max.messages": "400",
            "log_level": "0",
        }
    )
    producer.init_transactions(30)
    return producer


@contextmanager
def _raising(number: int) -> Iterator[None]:
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _publish_on(target: KafkaTarget, changes: list[RowChange]) -> None:
    while True:
        target.publish(FeedPosition(1), changes)


def _interrupt_after(seconds: float, number: int) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
    timer.start()
    return timer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_each_interrupt_of_a_publisher_is_an_interrupt(producer: Producer, number: int) -> None:
    to = KafkaDestination("changes", "progress", {"bootstrap.servers": "that of the producer"})
    target = KafkaTarget(to, FEEDS[CHANGES], "table", producer, cast("Any", None))
    one = RowChange("insert", 1, 0, 0, None, change(1))
    with _raising(number):
        for interrupt in range(_INTERRUPTS):
            timer = _interrupt_after(0.001 + interrupt / _INTERRUPTS / 50, number)
            with pytest.raises(KeyboardInterrupt):
                _publish_on(target, [one] * 500)
            timer.join()
            with suppress(KafkaException):  # the transaction may have ended
                producer.abort_transaction(30)


def test_handlers_are_those_from_before_after_the_block() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        with held_interrupts() as let_through:
            os.kill(os.getpid(), signal.SIGINT)
            assert came == []
            let_through()
            assert came == [signal.SIGINT]
            os.kill(os.getpid(), signal.SIGINT)
        assert came == [signal.SIGINT] * 2
        os.kill(os.getpid(), signal.SIGINT)
        assert came == [signal.SIGINT] * 3
    finally:
        signal.signal(signal.SIGINT, before)
