"""One page over HTTP, for few and strange clients."""

import asyncio

import pytest

from replica.node import http_server
from replica.node.http_server import MAX_CONNECTIONS, HttpResponse, HttpServer

HOST = "127.0.0.1"


def served(story, page=lambda path, accepted: HttpResponse("text/plain", accepted.encode())):
    async def main():
        server = HttpServer(page)
        port = await server.start(HOST, 0)
        try:
            async with asyncio.timeout(20):
                return await story(port)
        finally:
            await server.close()

    return asyncio.run(main())


async def said(port, request):
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("request_", "status", "content"),
    [
        (b"GET /metrics HTTP/1.1\r\nAccept: a/b\r\nACCEPT:c\r\n\r\n", b"200 OK", b"a/b,c"),
        (b"GET / HTTP/1.0\r\n\r\n", b"200 OK", b""),
        (b"HEAD / HTTP/1.1\r\nAccept: a/b\r\n\r\n", b"200 OK", b""),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", b"405 ", b""),
        (b"\r\n\r\n", b"405 ", b""),
        (b"\xff\x00\r\n\r\n", b"405 ", b""),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 9000 + b"\r\n\r\n", b"431 ", b""),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000, b"431 ", b""),
    ],
)
def test_a_request_has_one_answer_and_the_connection_ends(request_, status, content):
    head, _, body = served(lambda port: said(port, request_)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status)
    assert body == content


def test_a_client_that_never_ends_its_request_is_closed_in_time(monkeypatch):
    monkeypatch.setattr(http_server, "WITHIN_S", 0.3)

    async def story(port):
        return await said(port, b"GET / HTTP/1.1\r\n")

    assert served(story) == b""


def test_a_scrape_is_answered_while_strangers_hold_all_connections():
    async def story(port):
        strangers = [await asyncio.open_connection(HOST, port) for _ in range(3 * MAX_CONNECTIONS)]
        answer = await said(port, b"GET / HTTP/1.1\r\nAccept: now\r\n\r\n")
        closed = [await reader.read() for reader, _ in strangers[:MAX_CONNECTIONS]]
        for _, writer in strangers:
            writer.close()
        return answer, closed

    answer, closed = served(story)
    assert answer.endswith(b"now")
    assert closed == [b""] * MAX_CONNECTIONS


def test_a_large_page_arrives_whole():
    page = b"x" * 3_000_000
    answer = served(
        lambda port: said(port, b"GET / HTTP/1.1\r\n\r\n"),
        lambda path, accepted: HttpResponse("text/plain", page),
    )
    assert answer.endswith(b"\r\n\r\n" + page)


def test_a_page_is_chosen_by_its_path_without_the_query():
    answer = served(
        lambda port: said(port, b"GET /readyz?verbose=1 HTTP/1.1\r\n\r\n"),
        lambda path, accepted: HttpResponse("text/plain", path.encode(), "503 Service Unavailable"),
    )
    assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert answer.endswith(b"\r\n\r\n/readyz")
