"""An HTTP server on 127.0.0.1 that gives the answers of a test."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANG = 0
"""In place of an answer: no answer within HANG_S."""
HANG_S = 1.0


class Receiver:
    """Gives `answers` in turn, then 200. An answer is a status, or a status with headers. Started
    on entry, stopped on exit. `bodies` and `headers` are of all requests, also of refused ones."""

    def __init__(self, *answers: int | tuple[int, Mapping[str, str]], port: int = 0) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        remaining = list(answers)
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                received.bodies.append(json.loads(self.rfile.read(length)))
                received.headers.append(dict(self.headers))
                received.paths.append(self.path)
                answer = remaining.pop(0) if remaining else 200
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                if status == HANG:
                    time.sleep(HANG_S)
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/T0P-SECRET?token=T0P-SECRET"

    @property
    def messages(self) -> Sequence[str]:
        """The messages of the findings that arrived."""
        return [body["after"]["message"] for body in self.bodies]

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
