"""The asyncio consumer and the blocking consumer read a partition in memory."""

import asyncio
import gc
import signal
from contextlib import aclosing

import pytest

from replica.consumer.client import AsyncConsumer, Consumer
from replica.consumer.selector import LeaderSelector
from replica.consumer.session import Session, SessionSettings
from replica.consumer.values import (
    Fetch,
    FetchPosition,
    NoOffsetError,
    OffsetReset,
    ResetPolicy,
)
from replica.errors import AuthenticationError
from tests.replica.consumer.partition import Partition

LONG_POLL_S = 0.05
PATIENT_MS = 60_000


class InMemory:
    """Connections to a partition in memory. A fetch at its end waits, as at a real node."""

    def __init__(self, partition):
        self.partition = partition
        self.asks = []
        self.error = None
        self.is_closed = False
        self.waiting = 0

    async def call(self, ask):
        self.asks.append(ask)
        await asyncio.sleep(0)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        answer = self.partition.answer(ask)
        if isinstance(ask, Fetch) and not answer.data:
            self.waiting += 1
            try:
                await asyncio.sleep(LONG_POLL_S)
            finally:
                self.waiting -= 1
            answer = self.partition.answer(ask)
        return answer

    async def close(self):
        self.is_closed = True


def ten_records():
    """Ten committed records: the leader's own record at offset 0, and nine that were appended."""
    partition = Partition()
    partition.append(9)
    replicate(partition)
    return partition


def replicate(partition):
    for _ in range(2):
        for node in partition.nodes:
            partition.replicate(node, 1000)


def session(policy=ResetPolicy.EARLIEST, start=None):
    return Session(policy, LeaderSelector(), start, SessionSettings(retry_backoff_ms=1))


def offsets(polled):
    return [record.offset for record in polled.records]


async def read(consumer, count):
    found = []
    while len(found) < count:
        found += offsets(await consumer.poll(PATIENT_MS))
    return found


def test_polls_return_records_in_order_to_the_end():
    async def main():
        async with aclosing(AsyncConsumer(session(), InMemory(ten_records()))) as consumer:
            assert consumer.session.position is None
            assert await read(consumer, 10) == list(range(10))
            assert consumer.session.position == FetchPosition(10, 1)
            assert consumer.session.high_watermark == 10

    asyncio.run(main())


def test_a_poll_at_the_end_returns_nothing_and_its_fetch_goes_on_to_the_next_poll():
    async def main():
        partition = ten_records()
        connections = InMemory(partition)
        async with aclosing(
            AsyncConsumer(session(start=FetchPosition(10)), connections)
        ) as consumer:
            assert not await consumer.poll(0)
            while not connections.waiting:
                assert not await consumer.poll(1)
            asked = len(connections.asks)
            assert not await consumer.poll(0)
            partition.append(1)
            replicate(partition)
            assert offsets(await consumer.poll(PATIENT_MS)) == [10]
            assert len(connections.asks) == asked, "the fetch that was waiting brought it"

    asyncio.run(main())


def test_a_seek_during_a_fetch_takes_effect_at_once():
    async def main():
        connections = InMemory(ten_records())
        async with aclosing(
            AsyncConsumer(session(start=FetchPosition(10)), connections)
        ) as consumer:
            while not connections.waiting:
                await consumer.poll(1)
            consumer.session.seek(FetchPosition(4))
            assert offsets(await consumer.poll(PATIENT_MS))[0] == 4
            assert connections.waiting, "what was asked before isn't broken off"
        assert not connections.waiting
        assert connections.is_closed

    asyncio.run(main())


def test_a_poll_returns_the_report_of_a_reset_before_the_next_records():
    async def main():
        partition = ten_records()
        partition.trim(partition.leader, 4)
        consumer = AsyncConsumer(session(start=FetchPosition(1)), InMemory(partition))
        async with aclosing(consumer):
            polled = await consumer.poll(PATIENT_MS)
            assert polled.reports == (OffsetReset(FetchPosition(1), FetchPosition(4, 1)),)
            assert offsets(await consumer.poll(PATIENT_MS))[0] == 4

    asyncio.run(main())


def test_an_error_that_no_repetition_cures_is_raised_and_another_poll_tries_again():
    async def main():
        connections = InMemory(ten_records())
        connections.error = AuthenticationError("127.0.0.1:9092", "authentication failed")
        async with aclosing(AsyncConsumer(session(), connections)) as consumer:
            with pytest.raises(AuthenticationError):
                await consumer.poll(PATIENT_MS)
            assert await read(consumer, 10) == list(range(10))

    asyncio.run(main())


def test_without_policy_each_poll_raises_until_a_seek():
    async def main():
        consumer = AsyncConsumer(session(ResetPolicy.NONE), InMemory(ten_records()))
        async with aclosing(consumer):
            for _ in range(2):
                with pytest.raises(NoOffsetError):
                    await consumer.poll(PATIENT_MS)
            consumer.session.reset(ResetPolicy.EARLIEST)
            assert offsets(await consumer.poll(PATIENT_MS))[0] == 0

    asyncio.run(main())


def test_the_blocking_consumer_polls_and_closes_its_connections():
    connections, reader = InMemory(ten_records()), session()
    with Consumer(reader, connections) as consumer:
        found = []
        while len(found) < 10:
            found += offsets(consumer.poll(PATIENT_MS))
        assert found == list(range(10))
        reader.seek(FetchPosition(8))
        assert offsets(consumer.poll(PATIENT_MS))[0] == 8
        reader.reset(ResetPolicy.LATEST)
        assert reader.position is None
    assert connections.is_closed


def test_a_blocking_consumer_that_was_closed_can_be_closed_again():
    consumer = Consumer(session(), InMemory(ten_records()))
    consumer.poll(PATIENT_MS)
    consumer.close()
    consumer.close()


def test_an_interrupt_at_the_start_of_a_poll_is_not_lost(monkeypatch):
    """A Runner sets its signal handler a moment before it counts interrupts. An interrupt in this
    moment must not be lost."""
    consumer = Consumer(Session(ResetPolicy.EARLIEST, LeaderSelector()), InMemory(ten_records()))
    install = signal.signal

    def interrupted(number, handler):
        before = install(number, handler)
        if handler is not signal.default_int_handler:
            monkeypatch.setattr(signal, "signal", install)
            signal.raise_signal(signal.SIGINT)
        return before

    monkeypatch.setattr(signal, "signal", interrupted)
    with consumer, pytest.raises(KeyboardInterrupt):
        consumer.poll(PATIENT_MS)


@pytest.mark.filterwarnings("error")
def test_an_interrupt_before_a_poll_starts_warns_of_nothing(monkeypatch):
    consumer = Consumer(session(), InMemory(ten_records()))

    def interrupted(_runner, _polling):
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio.Runner, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(PATIENT_MS)
    monkeypatch.undo()
    consumer.close()
    del consumer
    gc.collect()
