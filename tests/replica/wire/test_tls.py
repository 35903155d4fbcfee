"""TLS and mTLS on 127.0.0.1, with an authority and certificates made for the test by openssl."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from replica.errors import (
    AuthenticationError,
    PeerError,
    UnreachablePeerError,
    UnreadableFileError,
    UsageError,
)
from replica.wire.apis.quorum import VOTE
from replica.wire.client import ClientConfig, Connection
from replica.wire.frame import framed
from replica.wire.header import WireRequest, encode_request
from replica.wire.limits import ListenerLimits
from replica.wire.server import Server, Service
from replica.wire.tls import PemText, Tls, client_context, distinguished_name, server_context
from tests.replica.wire.certificates import make_authority, make_certificate, openssl

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    """A folder with ca.pem, node.both.pem with a certificate signed by it and its key, and
    other.pem, an authority of its own. locked.both.pem is node.both.pem with the password `open`
    for the key, other.both.pem has the key of other.pem."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("ca", "other"):
        make_authority(folder, name)
    make_certificate(folder, "node", "/C=CH/O=kraft, lake/CN=node1")
    openssl(
        folder, "ec", "-in", "node.key", "-aes128", "-passout", "pass:open", "-out", "locked.key"
    )
    for both, key, certificate in (("locked", "locked", "node"), ("other", "other", "other")):
        texts = (folder / name for name in (f"{key}.key", f"{certificate}.pem"))
        (folder / f"{both}.both.pem").write_text("".join(path.read_text() for path in texts))
    return lambda name: str(folder / name)


@pytest.fixture(scope="module")
def node(pem):
    return Tls(pem("node.both.pem"), pem("ca.pem"))


async def principal_of(server_tls, client_tls, *, mutual=False):
    """Who the server says is asking."""

    async def whoami(client, request):
        return {"topics": [{"topicName": client.principal}]}

    service = Service(
        whoami,
        {VOTE.key: VOTE.versions},
        tls=server_context(server_tls, client_auth="required" if mutual else "none"),
    )
    server = Server(service, ListenerLimits(handshake_s=5))
    port = await server.start(HOST, 0)
    tls = None if client_tls is None else client_context(client_tls)
    try:
        connection = await Connection.connect(HOST, port, ClientConfig(tls=tls, timeout_s=5))
        try:
            answer = await connection.call(VOTE, {})
            return answer.message["topics"][0]["topicName"]
        finally:
            await connection.close()
    finally:
        await server.close()


def test_a_client_without_certificate_is_anonymous(node, pem):
    asked = principal_of(node, Tls(authorities=pem("ca.pem")))
    assert asyncio.run(asked) == "ANONYMOUS"


def test_a_client_is_known_by_its_certificates_name_as_kafka_prints_it(node):
    assert asyncio.run(principal_of(node, node, mutual=True)) == r"CN=node1,O=kraft\, lake,C=CH"


def test_a_client_without_certificate_is_refused_where_one_must_be_shown(node, pem):
    # asyncio's server closes without the alert that says why
    with pytest.raises(PeerError, match="closed by the peer"):
        asyncio.run(principal_of(node, Tls(authorities=pem("ca.pem")), mutual=True))


def test_a_servers_alert_about_our_certificate_is_told(node, pem):
    context = server_context(node, client_auth="required")

    def refuse(listening):
        plain, _ = listening.accept()
        shaking = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        with shaking, contextlib.suppress(OSError):
            with contextlib.suppress(ssl.SSLError):
                shaking.do_handshake()
            while socket.socket.recv(shaking, 1024):  # else closing would overtake the alert
                pass

    async def main(port):
        tls = client_context(Tls(authorities=pem("ca.pem")))
        await Connection.connect(HOST, port, ClientConfig(tls=tls, timeout_s=5))

    with socket.create_server((HOST, 0)) as listening:
        server = threading.Thread(target=refuse, args=(listening,))
        server.start()
        with pytest.raises(AuthenticationError, match=r"TLS.*CERTIFICATE_REQUIRED"):
            asyncio.run(main(listening.getsockname()[1]))
        server.join()


def test_a_certificate_of_another_authority_is_refused_on_either_side(node, pem):
    with pytest.raises(AuthenticationError, match="CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(principal_of(node, Tls(authorities=pem("other.pem"))))
    stranger = Tls(pem("other.both.pem"), pem("ca.pem"))
    with pytest.raises(PeerError, match="closed by the peer"):
        asyncio.run(principal_of(node, stranger, mutual=True))


def test_a_connection_without_a_tls_handshake_counts_and_is_closed_in_time(node):
    async def main():
        service = Service(None, {}, tls=server_context(node))
        server = Server(service, ListenerLimits(handshake_s=1.5, max_connections=1))
        port = await server.start(HOST, 0)
        silent, one = await asyncio.open_connection(HOST, port)
        await asyncio.sleep(0.05)
        late, two = await asyncio.open_connection(HOST, port)
        assert [await late.read(), await silent.read()] == [b"", b""]
        await asyncio.sleep(0.05)
        _, three = await asyncio.open_connection(HOST, port)
        for writer in (one, two, three):
            writer.close()
        while server.refused.total() < 3:
            await asyncio.sleep(0.01)
        assert server.connections == 0
        await server.close()
        return server.refused

    assert asyncio.run(asyncio.wait_for(main(), 10)) == {
        "closed to make room for another": 1,
        "TLS: no handshake in time": 1,
        "TLS: closed by the client": 1,
    }


def test_a_server_closes_while_hands_are_shaken(node):
    async def main():
        server = Server(Service(None, {}, tls=server_context(node)), ListenerLimits(handshake_s=60))
        port = await server.start(HOST, 0)
        reader, writer = await asyncio.open_connection(HOST, port)
        await asyncio.sleep(0.05)
        await server.close()
        assert await reader.read() == b""
        writer.close()

    asyncio.run(asyncio.wait_for(main(), 10))


def test_a_client_that_reads_no_answers_is_disconnected_when_its_time_is_over(node, pem):
    async def much(client, request):
        return {"topics": [{"topicName": "x" * 30_000, "partitions": []}] * 1500}

    async def main(tls, client_tls):
        limits = ListenerLimits(transfer_s=0.3, linger_s=0.3)
        server = Server(Service(much, {VOTE.key: VOTE.versions}, tls=tls), limits)
        port = await server.start(HOST, 0)
        _, writer = await asyncio.open_connection(HOST, port, ssl=client_tls, limit=1024)
        writer.transport.pause_reading()
        writer.write(framed(encode_request(WireRequest(VOTE, 2, 1, None, {}))))
        while server.refused["time is over"] == 0:
            await asyncio.sleep(0.01)
        while server.connections:
            await asyncio.sleep(0.01)
        writer.transport.abort()
        await server.close()

    trusting = client_context(Tls(authorities=pem("ca.pem")))
    for tls, client_tls in ((None, None), (server_context(node), trusting)):
        asyncio.run(asyncio.wait_for(main(tls, client_tls), 20))


def test_plain_text_is_refused(node):
    with pytest.raises(UnreachablePeerError):
        asyncio.run(principal_of(node, None))


def test_a_locked_key_opens_by_its_password_alone(pem):
    locked = Tls(pem("locked.both.pem"), pem("ca.pem"), "open")
    assert asyncio.run(principal_of(locked, locked, mutual=True)).startswith("CN=node1")
    for password in (None, "wrong"):
        with pytest.raises(
            UsageError, match=r"locked\.both\.pem: no PEM file .* password is wrong"
        ):
            client_context(Tls(pem("locked.both.pem"), pem("ca.pem"), password))


def test_pem_text_works_like_a_file_and_errors_name_its_key(node, pem):
    def text_of(*names):
        return PemText("in.line", "".join(Path(pem(name)).read_text() for name in names))

    inline = Tls(text_of("node.key", "node.pem"), authorities=text_of("ca.pem"))
    assert asyncio.run(principal_of(inline, inline, mutual=True)).startswith("CN=node1")
    assert "PRIVATE" not in repr(inline)
    for wrong in (PemText("in.line", "hello"), PemText("in.line", "\u20ac")):
        with pytest.raises(UsageError, match=r"^in\.line: no PEM file with this"):
            client_context(Tls(wrong))
        with pytest.raises(UsageError, match=r"^in\.line: no PEM file with cert"):
            client_context(Tls(authorities=wrong))
    with pytest.raises(UsageError, match=r"^in\.line: no PEM file with this"):
        client_context(Tls(text_of("node.pem")))


def test_versions_that_arent_enabled_are_refused(node):
    newest = replace(node, versions=("TLSv1.3",))
    older = replace(node, versions=("TLSv1.2",))
    assert asyncio.run(principal_of(newest, node)) == "ANONYMOUS"
    with pytest.raises(PeerError, match=r"TLS|closed"):
        asyncio.run(principal_of(newest, older))


def test_a_missing_or_malformed_pem_file_is_named(pem, tmp_path):
    with pytest.raises(UnreadableFileError, match=r"gone\.pem: No such file"):
        client_context(Tls(authorities=pem("gone.pem")))
    text = tmp_path / "text"
    text.write_text("hello")
    with pytest.raises(UsageError, match="text: no PEM file with certificates"):
        client_context(Tls(authorities=str(text)))
    with pytest.raises(UsageError, match=r"set ssl\.keystore\.location"):
        server_context(Tls(), client_auth="none")
    with pytest.raises(UsageError, match=r"needs ssl\.truststore\.location"):
        server_context(Tls(pem("node.both.pem")), client_auth="required")


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ((), ""),
        (((("commonName", "a"),),), "CN=a"),
        (
            (
                (
                    ("organizationName", "#x "),
                    ("organizationalUnitName", 'q"'),
                ),
            ),
            r"O=\#x\ +OU=q\"",
        ),
    ],
)
def test_names_are_written_as_rfc_2253_says(subject, name):
    assert distinguished_name({"subject": subject}) == name
