"""What a real object store refuses: one line that says what to do, from every command."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.kraftlake_process import kraftlake
from tests.object_stores.s3_server import S3Server

pytestmark = pytest.mark.slow

LIVE = "kafka-3.7.2-static/live/1"
COMMANDS = {
    "ingest": ("ingest", "--lake", "LAKE", "LOGS"),
    "ingest from there": ("ingest", "--lake", "LOCAL", "LAKE"),
    "capture": ("capture", "LOGS", "-o", "LAKE"),
    "build": ("build", "--lake", "LAKE"),
    "quality": ("quality", "--lake", "LAKE"),
    "sql": ("sql", "--lake", "LAKE", "select * from bronze.captures"),
    "sql --tables": ("sql", "--lake", "LAKE", "--tables"),
    "state": ("state", "--lake", "LAKE"),
    "report": ("report", "--lake", "LAKE", "-o", "LOCAL.html"),
    "lake": ("lake", "--lake", "LAKE"),
    "forget": ("forget", "--lake", "LAKE", "--cluster", "C"),
    "publish": ("publish", "--lake", "LAKE", "--table", "gold.findings", "--to", "LOCAL"),
}
NEARLY_AT_ONCE_S = 45
"""Also on a busy machine; by the libraries' own defaults it would be minutes."""


def refused(
    name: str, uri: str, variables: Mapping[str, str], data: Path, tmp_path: Path
) -> tuple[int, str]:
    """Exit code and the one line of a command about `uri`."""
    places = {
        "LAKE": uri,
        "LOCAL": str(tmp_path / "local"),
        "LOCAL.html": str(tmp_path / "page.html"),
        "LOGS": str(data / LIVE),
    }
    began = time.monotonic()
    ended = kraftlake(*(places.get(word, word) for word in COMMANDS[name]), variables=variables)
    assert time.monotonic() - began < NEARLY_AT_ONCE_S
    assert "Traceback" not in ended.stderr
    (line,) = (line for line in ended.stderr.splitlines() if line.startswith("kraftlake: error: "))
    return ended.returncode, line.removeprefix("kraftlake: error: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_secret_is_told(command: str, server: S3Server, data: Path, tmp_path: Path) -> None:
    variables = {**server.variables, "AWS_SECRET_ACCESS_KEY": "wrong"}
    code, line = refused(command, "s3://bucket/lake", variables, data, tmp_path)
    assert code == 1
    assert line.startswith("s3://bucket/lake")
    assert "the store denies access: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY" in line


@pytest.mark.parametrize("command", ["ingest from there", "sql"])
def test_an_unknown_access_key_is_refused_in_one_line(
    command: str, server: S3Server, data: Path, tmp_path: Path
) -> None:
    variables = {**server.variables, "AWS_ACCESS_KEY_ID": "NOBODY"}
    code, line = refused(command, "s3://bucket/lake", variables, data, tmp_path)
    assert (code, "the store denies access" in line) == (1, True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bucket_that_is_not_there_is_told(
    command: str, server: S3Server, data: Path, tmp_path: Path
) -> None:
    code, line = refused(command, "s3://no-such-bucket/lake", server.variables, data, tmp_path)
    assert code in (1, 2)
    assert "no-such-bucket" in line
    assert "there is no bucket no-such-bucket" in line or "there is no such bucket" in line


@pytest.mark.parametrize("command", COMMANDS)
def test_an_endpoint_that_nobody_listens_on_is_told(
    command: str, server: S3Server, data: Path, tmp_path: Path
) -> None:
    variables = {**server.variables, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    code, line = refused(command, "s3://bucket/lake", variables, data, tmp_path)
    assert code == 1
    assert "the store can't be reached: check AWS_ENDPOINT_URL and the network" in line


def test_a_key_that_is_not_there_is_told(server: S3Server, data: Path, tmp_path: Path) -> None:
    server.make_bucket("empty")
    for command, hint in {
        "ingest from there": "no such file or directory",
        "sql": "no tables in it; run `kraftlake ingest --lake` first",
        "build": "no tables in it; run `kraftlake ingest --lake` first",
    }.items():
        code, line = refused(command, "s3://empty/lake", server.variables, data, tmp_path)
        assert (code, hint in line) == (2, True), line


class _Expired(http.server.BaseHTTPRequestHandler):
    """What S3 documents of a session token that has expired. s3proxy knows no session tokens."""

    def _answer(self) -> None:
        body = (
            b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>ExpiredToken</Code>'
            b"<Message>The provided token has expired.</Message><RequestId>1</RequestId></Error>"
        )
        self.send_response(400)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        """Nothing: pytest's output is for tests."""


@pytest.fixture
def expired() -> Iterator[dict[str, str]]:
    """The environment with a store where every token has expired."""
    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Expired)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{listening.server_address[1]}",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "ASIAKEY",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "of yesterday",
    }
    listening.shutdown()
    listening.server_close()
    thread.join()


@pytest.mark.parametrize("command", ["ingest", "ingest from there", "capture", "sql", "publish"])
def test_credentials_that_have_expired_are_told(
    command: str, expired: dict[str, str], data: Path, tmp_path: Path
) -> None:
    code, line = refused(command, "s3://bucket/lake", expired, data, tmp_path)
    assert code == 1
    assert "expired" in line
