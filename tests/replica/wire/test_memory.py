"""Memory that large requests and answers share."""

import asyncio
import contextlib
import time

from replica.wire.apis.fetching import FETCH
from replica.wire.apis.quorum import VOTE
from replica.wire.frame import framed
from replica.wire.header import WireRequest, encode_request
from replica.wire.limits import NodeLimits
from replica.wire.memory import FREE_BYTES, STALLED, Memory, MemoryShare
from replica.wire.server import Shared
from tests.replica.wire.loopback import HOST, connected, running

MIB = 1024 * 1024


def load(address="a", closed=None, **values):
    return MemoryShare(address, (closed if closed is not None else []).append, **values)


def small_node(**changed):
    return Shared(NodeLimits(**{"request_bytes": 2 * MIB, **changed}))


def large_vote(size):
    return framed(encode_request(WireRequest(VOTE, 2, 1, None, {"clusterId": "x" * size})))


async def within(seconds, work):
    async with asyncio.timeout(seconds):
        return await work


def test_a_claimed_size_takes_no_memory_before_the_bytes_arrive():
    async def main():
        shared = small_node()
        async with running(shared=shared) as server, connected(server) as client:
            strangers = [await asyncio.open_connection(HOST, server.port) for _ in range(30)]
            for _, writer in strangers:
                writer.write((16 * MIB).to_bytes(4, "big"))
            await asyncio.sleep(0.05)
            assert shared.requests.used == 0
            await within(0.5, client.call(VOTE, {"clusterId": "x" * 30_000}))
            for _, writer in strangers:
                writer.close()

    asyncio.run(main())


def test_a_request_is_charged_as_it_comes_and_until_it_is_answered():
    async def main():
        shared = small_node()
        used = []

        async def look(client, request):
            used.append(shared.requests.used)
            return {}

        whole = large_vote(30_000)
        async with running(look, shared=shared) as server:
            reader, writer = await asyncio.open_connection(HOST, server.port)
            writer.write(whole[:20_000])
            while not shared.requests.used:
                await asyncio.sleep(0.01)
            assert shared.requests.used == 20_000 - 4 - FREE_BYTES
            writer.write(whole[20_000:])
            await reader.read(1)
            assert used == [len(whole) - 4 - FREE_BYTES]
            assert shared.requests.used == 0
            writer.close()

    asyncio.run(main())


def test_a_stalled_client_is_disconnected_where_memory_is_short_and_others_go_on():
    async def main():
        shared = small_node()
        async with running(shared=shared) as server, connected(server) as client:
            part = (2 * MIB).to_bytes(4, "big") + bytes(MIB)
            strangers = [await asyncio.open_connection(HOST, server.port) for _ in range(6)]
            for _, writer in strangers:
                writer.write(part)
            while not shared.requests.used > MIB:
                await asyncio.sleep(0.01)
            began = time.monotonic()
            await within(5, client.call(VOTE, {"clusterId": "x" * 30_000}))
            assert time.monotonic() - began < 3
            assert server.refused[STALLED] > 0
            for _, writer in strangers:
                writer.close()

    asyncio.run(main())


def test_requests_that_all_want_more_than_there_is_end_one_after_the_other():
    async def main():
        memory, ended = Memory(100, per_address=100), []

        async def one(name):
            with memory.load(load(name)) as mine:
                for _ in range(8):
                    await memory.grow(mine, 10)
                    mine.moved(20_000)
                    await asyncio.sleep(0)
                memory.arrived(mine)
            ended.append(name)

        await within(5, asyncio.gather(*(one(name) for name in "abcde")))
        assert sorted(ended) == list("abcde")
        assert memory.used == 0

    asyncio.run(main())


def test_one_address_takes_no_more_than_its_share():
    async def main():
        memory = Memory(100)
        with memory.load(load("greedy")) as first, memory.load(load("greedy")) as second:
            await memory.grow(first, 50)
            waiting = asyncio.create_task(memory.grow(second, 10))
            await asyncio.sleep(0)
            assert not waiting.done()
            with memory.load(load("other")) as other:
                await within(0.5, memory.grow(other, 40))
            waiting.cancel()

    asyncio.run(main())


def test_a_small_request_waits_for_no_queue_of_large_ones():
    async def main():
        memory = Memory(100, per_address=100)
        ended = contextlib.ExitStack()
        oldest, first, large, small = (load(name) for name in "abcd")
        with memory.load(oldest), memory.load(large), memory.load(small):
            await memory.grow(oldest, 20)
            await memory.grow(ended.enter_context(memory.load(first)), 40)
            await memory.grow(large, 40)
            waiting = [asyncio.create_task(memory.grow(each, 40)) for each in (large, small)]
            await asyncio.sleep(0)
            ended.close()
            await within(0.5, waiting[1])
            assert (large.size, small.size) == (40, 40)
            waiting[0].cancel()

    asyncio.run(main())


def test_a_request_that_stops_waiting_leaves_the_others_their_turn():
    async def main():
        memory = Memory(10, per_address=10)
        first = contextlib.ExitStack()
        await memory.grow(first.enter_context(memory.load(load("a"))), 10)
        with memory.load(load("b")) as second, memory.load(load("c")) as third:
            waiting = [asyncio.create_task(memory.grow(each, 6)) for each in (second, third)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            first.close()
            await within(0.5, waiting[1])
            assert (memory.used, second.size, third.size) == (6, 0, 6)
        assert memory.left == 10

    asyncio.run(main())


def test_unread_answers_make_room_except_those_of_voters():
    memory, closed = Memory(100, per_address=100), []
    with (
        memory.load(load(closed=closed)) as stalled,
        memory.load(load(closed=closed, is_voters=True)) as voters,
        memory.load(load(closed=closed)) as taken,
    ):
        memory.put(stalled, 40)
        memory.put(voters, 40)
        memory.put(taken, 20)
        taken.moved(20_000)
        with memory.load(load()) as new:
            memory.put(new, 30)
            assert (stalled.size, voters.size, taken.size, new.size) == (0, 40, 20, 30)
    assert closed == [STALLED]
    assert memory.used == 0


def test_readers_who_take_nothing_are_closed_before_their_answers_fill_the_memory():
    records = bytes(MIB)

    async def large(client, request):
        partition = {"partitionIndex": 0, "records": records}
        return {"responses": [{"topic": "t", "partitions": [partition]}]}

    async def main():
        shared = Shared(NodeLimits(answer_bytes=5 * MIB))
        fetch = framed(encode_request(WireRequest(FETCH, 12, 1, None, {"topics": []})))
        async with running(large, shared=shared) as server:
            strangers = []
            for _ in range(20):
                _, writer = await asyncio.open_connection(HOST, server.port, limit=1024)
                writer.transport.pause_reading()
                writer.write(fetch)
                strangers.append(writer)
            while server.refused[STALLED] < 10:
                await asyncio.sleep(0.01)
            assert shared.answers.used <= 5 * MIB
            async with connected(server) as client:
                answer = await within(5, client.call(FETCH, {}))
                assert len(answer.message["responses"][0]["partitions"][0]["records"]) == MIB
            for writer in strangers:
                writer.transport.abort()

    asyncio.run(main())
