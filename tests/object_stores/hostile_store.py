"""An S3 server on 127.0.0.1 that lies: it has sound objects, and does one thing that no store does.
It checks no credentials."""

from __future__ import annotations

import http.server
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

BUCKET = "bucket"
_PAGE = 1000

Handler = http.server.BaseHTTPRequestHandler


@dataclass
class HostileStore:
    """The store. objects: key -> bytes. lie: answers a request in its own way, or returns False.
    asked: method and path of all requests."""

    objects: dict[str, bytes]
    lie: Callable[[Request], bool]
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def variables(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "AKIAHOSTILE",
            "AWS_SECRET_ACCESS_KEY": "SECRETPART",
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@dataclass
class Request:
    """A request. key: "" for the bucket. query: its parameters. handler: answers it."""

    store: HostileStore
    handler: Handler
    key: str
    query: dict[str, str]

    @property
    def is_listing(self) -> bool:
        return self.handler.command == "GET" and not self.key

    def send(self, code: int, body: bytes, **headers: str) -> None:
        """Sends an answer. headers: with _ for -; contentLength replaces the body's own length."""
        self.start(code, {"Content-Length": str(len(body)), **_named(headers)})
        if self.handler.command != "HEAD":
            self.handler.wfile.write(body)

    def start(self, code: int, headers: dict[str, str]) -> None:
        self.handler.send_response(code)
        for name, value in headers.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()

    def list(self, keys: dict[str, int], *, more: str = "") -> None:
        """Sends a page of a listing. more: where the next page begins."""
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size>"
            "<LastModified>2026-11-25T06:00:00.000Z</LastModified><ETag>&quot;0&quot;</ETag>"
            "</Contents>"
            for key, size in keys.items()
        )
        ending = f"<NextContinuationToken>{more}</NextContinuationToken>" if more else ""
        text = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult '
            f'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{BUCKET}</Name>'
            f"<KeyCount>{len(keys)}</KeyCount><MaxKeys>{_PAGE}</MaxKeys>"
            f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{ending}{rows}"
            "</ListBucketResult>"
        )
        self.send(200, text.encode(), Content_Type="application/xml")


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _answer(request: Request) -> None:
    """Answers as an honest store."""
    store = request.store
    if store.lie(request):
        return
    if request.is_listing:
        prefix = request.query.get("prefix", "")
        sizes = {key: len(data) for key, data in sorted(store.objects.items())}
        request.list({key: size for key, size in sizes.items() if key.startswith(prefix)})
    elif not request.key:
        request.send(200, b"")
    elif request.handler.command == "PUT":
        _receive(request)
    elif request.key in store.objects:
        _serve(request, store.objects[request.key])
    else:
        request.send(404, b"")


def _receive(request: Request) -> None:
    size = int(request.handler.headers.get("Content-Length", "0"))
    request.store.objects[request.key] = request.handler.rfile.read(size)
    request.send(200, b"", ETag='"0"')


def _serve(request: Request, data: bytes) -> None:
    asked = request.handler.headers.get("Range", "")
    if asked.startswith("bytes="):
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last) + 1 if last else None]
        where = f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"
        request.send(206, part, Content_Range=where, ETag='"0"')
    else:
        request.send(200, data, ETag='"0"')


@contextmanager
def hostile_store(
    folder: Path, prefix: str, lie: Callable[[Request], bool]
) -> Iterator[HostileStore]:
    """The files below a folder as objects below prefix/."""
    objects = {
        f"{prefix}/{path.relative_to(folder)}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    store = HostileStore(objects, lie)

    class Handling(Handler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            with suppress(OSError):
                super().handle_one_request()
                return
            self.close_connection = True

        def do_GET(self) -> None:
            store.asked.append(f"{self.command} {self.path}")
            split = urllib.parse.urlsplit(self.path)
            _, _, key = urllib.parse.unquote(split.path).removeprefix("/").partition("/")
            query = dict(urllib.parse.parse_qsl(split.query))
            with suppress(OSError):
                _answer(Request(store, self, key, query))

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handling)
    server.daemon_threads = True
    store.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
