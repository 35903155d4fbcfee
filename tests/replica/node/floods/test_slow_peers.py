"""Peers that send and take a byte at a time, and sockets that take a send in part: bytes stay
right, others are served meanwhile, and memory stays bounded."""

import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from replica.wire.apis.cluster import METADATA
from replica.wire.apis.fetching import FETCH
from replica.wire.frame import framed
from replica.wire.header import WireRequest, decode_response, encode_request
from tests.in_threads import in_threads
from tests.replica.node.floods.flooded import CLIENT, HOST, LINES, flooded
from tests.replica.node.running import TOPIC, at

MIB = 1024 * 1024
SMALL = 8 * 1024
"""The size of a socket's buffers, so small that a large answer is sent in many parts."""
ANSWERS = 4 * MIB
SMALL_BUFFERS = f"""socket.send.buffer.bytes={SMALL}
socket.receive.buffer.bytes={SMALL}
kraftlake.queued.max.response.bytes={ANSWERS}
"""
SLOW = 60
"""How many slow peers of each kind there are."""
READ_BYTES = 900_000
MOST_GROWTH = 24 * MIB
"""How far a process may grow. Without the limit ANSWERS, SLOW readers would hold 50 MiB."""


@pytest.fixture(scope="module")
def quorum(tmp_path_factory):
    with flooded(tmp_path_factory.mktemp("slow"), LINES + SMALL_BUFFERS) as running:
        for number in range(20):
            running.append(CLIENT, bytes([number]) * 50_000)
        yield running


def fetch(correlation_id):
    asked = {
        "replicaId": -1,
        "maxWaitMs": 0,
        "minBytes": 1,
        "maxBytes": READ_BYTES,
        "topics": at(FETCH, fetchOffset=1, partitionMaxBytes=READ_BYTES),
    }
    return framed(encode_request(WireRequest(FETCH, 12, correlation_id, None, asked)))


def connected(port):
    """A socket whose own buffer is small too."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    made.settimeout(60)
    made.connect((HOST, port))
    return made


def received(connection, size, at_once=65536):
    found = b""
    while len(found) < size:
        part = connection.recv(min(at_once, size - len(found)))
        assert part, f"the server has closed the connection after {len(found)} bytes"
        found += part
    return found


def answer(connection, at_once=65536):
    size = int.from_bytes(received(connection, 4, at_once), "big")
    return received(connection, size, at_once)


@contextmanager
def by_bytes(ports, frame, pause_s):
    """SLOW connections to each port, which send the frame a byte at a time, again and again, and
    take answers a byte at a time."""
    over = threading.Event()
    with ExitStack() as stack:
        peers = [stack.enter_context(connected(port)) for port in ports for _ in range(SLOW)]
        for each in peers:
            each.setblocking(False)

        def go_on():
            number = 0
            while not over.wait(pause_s):
                byte = frame[number % len(frame)].to_bytes(1, "big")
                for each in peers:
                    try:
                        each.send(byte)
                        each.recv(1)
                    except OSError:
                        continue
                number += 1

        with in_threads(over, [go_on]):
            yield


def test_an_answer_that_is_taken_byte_by_byte_has_the_bytes_of_any_other(quorum):
    port = quorum.ports[quorum.epoch_and_leader(1, 2, 3)[1]]
    with connected(port) as quick, connected(port) as slow:
        quick.sendall(fetch(7))
        wanted = answer(quick)
        slow.sendall(fetch(7))
        size = received(slow, 4, at_once=1)
        found = received(slow, 20_000, at_once=1)
        found += received(slow, int.from_bytes(size, "big") - len(found), at_once=999)
    assert len(wanted) > READ_BYTES / 2
    assert found == wanted


@pytest.mark.parametrize(
    "lasts_s", [1, pytest.param(25, marks=pytest.mark.slow)], ids=["a second", "most of 30 s"]
)
def test_a_request_that_comes_byte_by_byte_is_answered_as_any_other(quorum, lasts_s):
    """The slow request comes after a quick one. A server waits 30 s for one frame."""
    port = quorum.ports[quorum.epoch_and_leader(1, 2, 3)[1]]
    with connected(port) as peer:
        peer.sendall(fetch(1))
        wanted = answer(peer)
        frame = fetch(2)
        for byte in frame:
            peer.sendall(byte.to_bytes(1, "big"))
            time.sleep(lasts_s / len(frame))
        assert decode_response(FETCH, 12, answer(peer)) == decode_response(
            FETCH, 12, (2).to_bytes(4, "big") + wanted[4:]
        )


def test_others_are_served_while_many_peers_are_slow_and_memory_stays_bounded(quorum):
    asked = {"topics": [{"name": TOPIC}]}
    metadata = framed(encode_request(WireRequest(METADATA, 9, 1, None, asked)))
    before = quorum.epoch_and_leader(1, 2, 3)
    leader = before[1]
    resident = quorum.resident_kib(leader)
    with by_bytes(quorum.ports.values(), metadata, 0.01), ExitStack() as stack:
        for _ in range(SLOW):
            reader = stack.enter_context(connected(quorum.ports[leader]))
            reader.sendall(fetch(1))
        took, grown, until = [], [], time.monotonic() + 3
        while time.monotonic() < until:
            began = time.monotonic()
            quorum.append(CLIENT, b"meanwhile")
            took.append(time.monotonic() - began)
            grown.append(quorum.resident_kib(leader) - resident)
        assert max(grown) * 1024 < MOST_GROWTH
        assert max(took) < 3
        assert quorum.epoch_and_leader(1, 2, 3) == before


def test_voters_whose_sockets_take_sends_in_part_hold_the_same_bytes(quorum):
    values = [bytes([number]) * 400_000 for number in range(3)]
    for value in values:
        end = quorum.append(CLIENT, value)
    deadline = time.monotonic() + 60
    while len({quorum.log(node_id) for node_id in quorum.ports}) > 1:
        assert time.monotonic() < deadline, {n: len(quorum.log(n)) for n in quorum.ports}
        time.sleep(0.2)
    assert end > 20
    assert all(value in quorum.log(1) for value in values)
