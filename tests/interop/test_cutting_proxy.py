"""The proxies that cut ways between nodes, in front of a node that answers each frame by itself."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from tests.interop.cutting_proxy import CuttingProxies, cutting_proxies
from tests.interop.kafka_node import free_ports

WITHIN_S = 10.0
SOON_S = 0.2
NODE = 2


def frame_of(client: str, text: str) -> bytes:
    """A request's begin, as Kafka's clients send it."""
    name = client.encode()
    return struct.pack(">hhih", 18, 0, 1, len(name)) + name + text.encode()


def received(connection: socket.socket) -> bytes | None:
    """The next frame; None at the end. TimeoutError where none comes."""
    found = b""
    while len(found) < 4 or len(found) < 4 + int.from_bytes(found[:4], "big"):
        more = connection.recv(4 + int.from_bytes(found[:4], "big") if len(found) >= 4 else 4)
        if not more:
            return None
        found += more
    return found[4:]


def send(connection: socket.socket, frame: bytes) -> None:
    connection.sendall(struct.pack(">i", len(frame)) + frame)


@dataclass
class Echo:
    """frames: all that came."""

    frames: list[bytes] = field(default_factory=list)

    def live(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while (frame := received(connection)) is not None:
                self.frames.append(frame)
                send(connection, frame)

    def has(self, text: str) -> bool:
        return any(frame.endswith(text.encode()) for frame in self.frames)


@dataclass
class Place:
    echo: Echo
    proxies: CuttingProxies
    port: int

    def asked(self, text: str, client: str = "raft-client-1") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), WITHIN_S)
        send(connection, frame_of(client, text))
        return connection

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not self.echo.has(text):
            assert time.monotonic() < deadline, f"{text} has not come"
            time.sleep(0.01)


@pytest.fixture
def place() -> Iterator[Place]:
    echo = Echo()
    port, target = free_ports(2)
    with socket.create_server(("127.0.0.1", target)) as listener:
        thread = threading.Thread(target=echo.live, args=(listener,), daemon=True)
        thread.start()
        with cutting_proxies({NODE: (port, target)}) as proxies:
            yield Place(echo, proxies, port)


def test_requests_and_responses_pass_a_link_that_is_not_cut(place: Place) -> None:
    with place.asked("one") as connection:
        assert received(connection) == frame_of("raft-client-1", "one")


def test_a_request_on_a_way_that_is_cut_comes_once_it_is_healed(place: Place) -> None:
    place.proxies.faults.cut = frozenset({(1, NODE)})
    with place.asked("held") as connection:
        time.sleep(SOON_S)
        assert not place.echo.frames
        place.proxies.faults.heal(loses=False)
        assert received(connection) == frame_of("raft-client-1", "held")


def test_a_way_is_cut_for_answers_where_requests_pass(place: Place) -> None:
    place.proxies.faults.cut = frozenset({(NODE, 1)})
    with place.asked("one way") as connection:
        place.wait_for("one way")
        connection.settimeout(SOON_S)
        with pytest.raises(TimeoutError):
            received(connection)
        place.proxies.faults.heal(loses=False)
        connection.settimeout(WITHIN_S)
        assert received(connection) == frame_of("raft-client-1", "one way")


def test_a_request_comes_late_whose_sender_has_given_up(place: Place) -> None:
    place.proxies.faults.cut = frozenset({(1, NODE)})
    place.asked("late").close()
    time.sleep(SOON_S)
    place.proxies.faults.heal(loses=False)
    place.wait_for("late")


def test_bytes_held_by_a_cut_link_are_lost_with_their_connection(place: Place) -> None:
    place.proxies.faults.cut = frozenset({(1, NODE)})
    with place.asked("lost") as connection:
        time.sleep(SOON_S)
        place.proxies.faults.heal(loses=True)
        assert received(connection) is None
        assert not place.echo.frames
    with place.asked("next") as connection:
        assert received(connection) == frame_of("raft-client-1", "next")


def test_other_nodes_and_clients_that_are_no_nodes_pass(place: Place) -> None:
    place.proxies.faults.cut = frozenset({(1, NODE), (NODE, 1)})
    for client in ("raft-client-3", "admin"):
        with place.asked("free", client) as connection:
            assert received(connection) == frame_of(client, "free")


def test_frames_are_slow_where_they_are_delayed(place: Place) -> None:
    place.proxies.faults.delay_s = 0.2
    began = time.monotonic()
    for _ in range(5):
        with place.asked("slow") as connection:
            assert received(connection) is not None
    assert time.monotonic() - began > SOON_S, "ten waits of 0.1 s on average"
