"""register where something else than a Hive metastore listens: one line, soon, and nothing of what
was sent is shown."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.kraftlake_process import kraftlake

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Answer = Callable[[socket.socket, Event], None]
NO_ANSWER = "kraftlake: error: the Hive metastore gives no answer: check --catalog"
SOMETHING_ELSE = "kraftlake: error: no Hive metastore answers, but something else: check --catalog"
MOST_CONNECTIONS = 2
AFTER_S = 60
"""A command ends within these seconds after it has connected, also on a machine that is busy."""


def html(client: socket.socket, _: Event) -> None:
    page = b"<html>\x1b[2Jhello</html>\n"
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page)


def redirect(client: socket.socket, _: Event) -> None:
    client.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n")


def huge_headers(client: socket.socket, _: Event) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\n")
    for _n in range(2000):
        client.sendall(b"X-Long: " + b"a" * 65536 + b"\r\n")


def wrong_length(client: socket.socket, ended: Event) -> None:
    client.sendall(struct.pack(">I", 2**31 - 1) + b"\0")
    ended.wait()


def endless(client: socket.socket, ended: Event) -> None:
    while not ended.is_set():
        client.sendall(bytes(65536))


def silence(_: socket.socket, ended: Event) -> None:
    ended.wait()


def hang_up(_client: socket.socket, _: Event) -> None:
    """The connection is closed by whoever calls this."""


def an_error_with_a_line_of_ours(client: socket.socket, _: Event) -> None:
    """A TApplicationException of Thrift's binary protocol, whose message looks like an end."""
    text = b"\x1b[2J\nkraftlake: all tables have names\n"
    client.sendall(
        struct.pack(">II", 0x80010003, 7) + b"set_ugi" + struct.pack(">i", 0)
        + struct.pack(">BhI", 11, 1, len(text)) + text + struct.pack(">BhiB", 8, 2, 6, 0)
    )  # fmt: skip


@contextmanager
def answering(answer: Answer) -> Iterator[tuple[int, list[float]]]:
    """A port where each connection is answered so, and when each of them came."""
    ended = Event()
    came: list[float] = []

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(AFTER_S)
            client.recv(1 << 16)
            answer(client, ended)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                came.append(time.monotonic())
                Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=accept, daemon=True).start()
        try:
            yield server.getsockname()[1], came
        finally:
            ended.set()
            server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (html, SOMETHING_ELSE),
        (redirect, SOMETHING_ELSE),
        (huge_headers, SOMETHING_ELSE),
        (wrong_length, NO_ANSWER),
        (endless, SOMETHING_ELSE),
        (silence, NO_ANSWER),
        (hang_up, SOMETHING_ELSE),
        (an_error_with_a_line_of_ours, SOMETHING_ELSE),
    ],
    ids=lambda value: getattr(value, "__name__", "") or "",
)
def test_what_is_no_metastore_is_told_in_one_line_and_soon(
    built_lake: Path, answer: Answer, said: str
) -> None:
    with answering(answer) as (port, came):
        place = f"thrift://127.0.0.1:{port}"
        done = kraftlake("register", "--lake", built_lake, "--catalog", place, within_s=400)
        ended = time.monotonic()
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["register: starting Spark", said]
    assert not done.stdout
    assert 1 <= len(came) <= MOST_CONNECTIONS
    assert ended - came[0] < AFTER_S
