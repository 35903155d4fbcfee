"""What a store that answers with redirects or endless headers can do to whoever opens a lake there,
or reads a capture."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from tests.kraftlake_process import kraftlake
from tests.object_stores.hostile_store import Request, hostile_store

LAKE = "s3://bucket/lake"
WITHIN_S = 90
HEADERS = 64 << 20
"""The bytes of headers that a hostile store sends before it ends an answer."""
COMMANDS = (
    ("sql", "--lake", LAKE, "SELECT * FROM gold.findings"),
    ("lake", "--lake", LAKE),
    ("ingest", "--lake", "{folder}/new", "s3://bucket/lake/_captures"),
)
WITH_TOKEN = {"AWS_SESSION_TOKEN": "TOKENPART"}
Lie = Callable[[Request], bool]


@contextmanager
def elsewhere() -> Iterator[tuple[int, list[bytes]]]:
    """Another server, and what it was asked."""
    asked: list[bytes] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                with client, suppress(OSError):
                    client.settimeout(5)
                    asked.append(client.recv(1 << 16))
                    client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=serve, daemon=True).start()
        try:
            yield server.getsockname()[1], asked
        finally:
            server.shutdown(socket.SHUT_RDWR)


def redirecting(port: int) -> Lie:
    def lie(request: Request) -> bool:
        request.send(307, b"", Location=f"http://127.0.0.1:{port}/secret\x1b[2J")
        return True

    return lie


def huge_headers(request: Request) -> bool:
    request.handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for _ in range(HEADERS >> 16):
        request.handler.wfile.write(b"X-Long: " + b"a" * 65520 + b"\r\n")
    request.handler.wfile.write(b"Content-Length: 0\r\n\r\n")
    return True


def _said(folder: Path, lie: Lie, words: tuple[str, ...], **variables: str) -> tuple[int, str]:
    folder.mkdir()
    (folder / "x").write_bytes(b"x")
    with hostile_store(folder, "lake", lie) as store:
        began = time.monotonic()
        done = kraftlake(
            *(word.format(folder=folder) for word in words),
            variables={**store.variables, **variables},
            within_s=WITHIN_S * 2,
        )
        assert time.monotonic() - began < WITHIN_S
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_no_redirect_is_followed(tmp_path: Path, words: tuple[str, ...]) -> None:
    with elsewhere() as (port, asked):
        code, said = _said(tmp_path / "x", redirecting(port), words, **WITH_TOKEN)
    assert code in (1, 2)
    assert len(said.splitlines()) <= 2
    assert "\x1b" not in said
    assert "Traceback" not in said
    assert asked == []


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_redirect_from_a_region_of_its_own_takes_no_signature_along(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """pyarrow's S3 client follows it there."""
    with elsewhere() as (port, asked):
        code, said = _said(tmp_path / "x", redirecting(port), words, AWS_REGION="eu-west-1")
    assert code in (1, 2)
    assert len(said.splitlines()) <= 2
    assert "\x1b" not in said
    assert b"authorization" not in b"".join(asked).lower()
    assert b"secretpart" not in b"".join(asked).lower()


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_headers_without_end_are_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, said = _said(tmp_path / "x", huge_headers, words)
    assert code in (1, 2)
    assert len(said.splitlines()) <= 2
    assert "Traceback" not in said
    assert "internal error" not in said
