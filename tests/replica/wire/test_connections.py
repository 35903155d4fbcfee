"""Who makes room for whom where there are too many connections."""

import asyncio
import errno
import socket
import time

import pytest

from replica.wire.acceptor import Acceptor
from replica.wire.apis.quorum import VOTE
from replica.wire.connections import (
    MADE_ROOM,
    MOST_OF_VOTERS,
    TOO_MANY,
    TOO_MANY_OF_ADDRESS,
    Connected,
    ListenerConnections,
    address_of,
)
from replica.wire.limits import ListenerLimits, NodeLimits
from replica.wire.server import Shared
from replica.wire.turns import Turns
from tests.replica.wire.loopback import HOST, connected, running


class Crowd:
    """Connections that note when they are closed."""

    def __init__(self, **limits):
        self.connections = ListenerConnections(NodeLimits(**limits))
        self.closed = []

    def admit(self, name, address="a", listener="L", listener_max=100, **state):
        def close(why):
            self.closed.append((name, why))

        new = Connected(address, listener, close, **state)
        return new, self.connections.admit(new, listener_max)


def test_the_connection_that_has_been_idle_longest_makes_room():
    crowd = Crowd(max_connections=3)
    first, _ = crowd.admit("first")
    crowd.admit("second")
    crowd.admit("third")
    crowd.connections.heard(first)
    assert crowd.admit("fourth")[1] == ""
    assert crowd.closed == [("second", MADE_ROOM)]
    assert len(crowd.connections) == 3


def test_connections_with_a_request_make_room_after_idle_ones():
    crowd = Crowd(max_connections=2)
    crowd.admit("busy", is_busy=True)
    crowd.admit("idle")
    crowd.admit("new", is_busy=True)
    crowd.admit("newer")
    assert [name for name, _ in crowd.closed] == ["idle", "busy"]


def test_a_voters_connection_makes_room_for_nobody():
    crowd = Crowd(max_connections=2)
    crowd.admit("voter", is_voters=True)
    crowd.admit("other voter", is_voters=True)
    assert crowd.admit("stranger")[1] == TOO_MANY
    assert crowd.closed == []


def test_of_the_connections_that_claim_to_be_voters_the_newest_are_believed():
    crowd = Crowd()
    claimed = [crowd.admit(number)[0] for number in range(MOST_OF_VOTERS)]
    for each in claimed:
        crowd.connections.protect(each)
    crowd.connections.protect(claimed[0])
    crowd.connections.protect(crowd.admit("voter")[0])
    assert [each.is_voters for each in claimed[:3]] == [True, False, True]
    gone = claimed[2]
    crowd.connections.leave(gone)
    crowd.connections.protect(crowd.admit("another")[0])
    assert claimed[3].is_voters


def test_the_address_that_has_the_most_makes_room_for_another():
    crowd = Crowd(max_connections=4)
    crowd.admit("reader", address="b")
    for number in range(3):
        crowd.admit(number)
    crowd.admit("new", address="c")
    assert crowd.closed == [(0, MADE_ROOM)]


def test_an_address_has_no_more_than_its_limit_or_its_exception():
    crowd = Crowd(per_address=2, per_address_of={"b": 1})
    crowd.admit(1)
    crowd.admit(2)
    crowd.admit(3)
    crowd.admit("voter", address="b", is_voters=True)
    assert crowd.admit("more", address="b")[1] == TOO_MANY_OF_ADDRESS
    assert crowd.closed == [(1, MADE_ROOM)]


def test_a_listeners_own_limit_closes_none_of_another_listener():
    crowd = Crowd()
    crowd.admit("other", listener="M")
    crowd.admit("old", listener_max=1)
    assert crowd.admit("new", listener_max=1)[1] == ""
    assert crowd.closed == [("old", MADE_ROOM)]
    assert crowd.connections.on("L") == crowd.connections.on("M") == 1


def test_leaving_twice_is_counted_once():
    crowd = Crowd()
    gone, _ = crowd.admit("gone")
    crowd.connections.leave(gone)
    crowd.connections.leave(gone)
    crowd.connections.heard(gone)
    assert len(crowd.connections) == crowd.connections.on("L") == 0


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_one_machines_addresses_count_as_one(host, address):
    assert address_of(host) == address


def test_a_new_client_is_answered_while_strangers_hold_all_connections():
    async def main():
        shared = Shared(NodeLimits(max_connections=5))
        async with running(shared=shared) as server:
            strangers = [await asyncio.open_connection(HOST, server.port) for _ in range(20)]
            async with connected(server) as client:
                assert (await client.call(VOTE, {"voterId": 4})).message["errorCode"] == 4
            closed = [await reader.read() for reader, _ in strangers[:15]]
            assert closed == [b""] * 15
            assert server.refused[MADE_ROOM] >= 15
            for _, writer in strangers:
                writer.close()

    asyncio.run(main())


def test_a_voters_connection_stays_while_strangers_come_and_go():
    async def main():
        shared = Shared(NodeLimits(max_connections=3))
        async with (
            running(shared=shared, is_voters=lambda client, request: request.api is VOTE) as server,
            connected(server) as voter,
        ):
            await voter.call(VOTE, {"voterId": 4})
            for _ in range(20):
                _, writer = await asyncio.open_connection(HOST, server.port)
                await asyncio.sleep(0.005)
                writer.close()
            assert (await voter.call(VOTE, {"voterId": 4})).message["errorCode"] == 4

    asyncio.run(main())


def test_accepting_pauses_while_no_file_is_left_and_closes_an_idle_connection():
    async def main():
        async with running(limits=ListenerLimits()) as server:
            _, idle = await asyncio.open_connection(HOST, server.port)
            await asyncio.sleep(0.02)
            (listening,) = server._acceptor.sockets
            failing = Failing(listening, 1)
            asyncio.get_running_loop().remove_reader(listening)
            asyncio.get_running_loop().add_reader(listening, server._acceptor._accept, failing)
            async with connected(server) as client:
                assert (await client.call(VOTE, {"voterId": 4})).message["errorCode"] == 4
            assert failing.tried < 6
            assert server.refused["accept: Too many open files"] == 1
            assert server.refused[MADE_ROOM] == 1
            idle.close()

    asyncio.run(main())


class Failing:
    """A listening socket whose first calls of accept find no file."""

    def __init__(self, listening, failures):
        self.listening = listening
        self.failures = failures
        self.tried = 0

    def fileno(self):
        return self.listening.fileno()

    def accept(self):
        self.tried += 1
        if self.tried <= self.failures:
            raise OSError(errno.EMFILE, "Too many open files")
        return self.listening.accept()


def test_all_addresses_of_the_machine_are_listened_on_where_none_is_named():
    async def main():
        came = []

        def arrived(connection, host):
            came.append(host)
            connection.close()

        acceptor = Acceptor(arrived, came.append)
        port = await acceptor.start("", 0)
        families = {each.family for each in acceptor.sockets}
        _, writer = await asyncio.open_connection(HOST, port)
        await asyncio.sleep(0.02)
        writer.close()
        acceptor.close()
        assert socket.AF_INET in families
        assert came == [HOST]

    asyncio.run(main())


def test_no_part_of_an_answer_waits_for_an_acknowledgement_of_the_part_before_it():
    async def main():
        delays = []

        def arrived(connection, host):
            delays.append(not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            connection.close()

        acceptor = Acceptor(arrived, delays.append)
        _, writer = await asyncio.open_connection(HOST, await acceptor.start(HOST, 0))
        await asyncio.sleep(0.02)
        writer.close()
        acceptor.close()
        assert delays == [False]

    asyncio.run(main())


def test_one_turn_is_given_in_each_round_of_the_loop():
    async def main():
        turns, order = Turns(), []

        async def stranger(number):
            await turns.next("a")
            order.append(number)

        async def voter():
            for _ in range(8):
                order.append("voter")
                await asyncio.sleep(0)

        await asyncio.gather(*(stranger(number) for number in range(8)), voter())
        assert [each for each in order if each != "voter"] == list(range(8))
        between = "".join("v" if each == "voter" else "s" for each in order)
        assert "sss" not in between.rstrip("s"), "a turn that took long lets voters go first"

    asyncio.run(main())


def test_a_client_that_gives_up_its_turn_blocks_no_other():
    async def main():
        turns = Turns()
        await turns.next("a")
        waiting = [asyncio.create_task(turns.next("a")) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        async with asyncio.timeout(5):
            await asyncio.gather(*waiting[1:])
            await turns.next("a")

    asyncio.run(main())


def test_an_address_that_asks_much_delays_another_by_one_turn():
    async def main():
        turns, order = Turns(), []

        async def ask(address):
            await turns.next(address)
            order.append(address)

        await turns.next("busy")
        await asyncio.gather(*(ask("busy") for _ in range(20)), ask("calm"))
        assert order.index("calm") <= 2
        assert len(order) == 21

    asyncio.run(main())


def test_turns_that_cost_much_leave_half_of_the_time_to_voters():
    async def main():
        turns, rounds = Turns(), []

        async def busy():
            await turns.next("a")
            time.sleep(0.02)

        async def voter():
            while len(rounds) < 5000:
                rounds.append(time.monotonic())
                await asyncio.sleep(0)

        began = time.monotonic()
        voting = asyncio.create_task(voter())
        await asyncio.gather(*(busy() for _ in range(10)))
        assert time.monotonic() - began >= 0.36
        assert len(rounds) > 200
        voting.cancel()

    asyncio.run(main())
