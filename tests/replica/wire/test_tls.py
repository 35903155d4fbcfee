"""TLS and mTLS on 127.0.0.1, with an authority and certificates made for the test by openssl."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import threading

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
from replica.wire.frame import Limits
from replica.wire.server import Server, Service
from replica.wire.tls import Tls, client_context, distinguished_name, server_context

HOST = "127.0.0.1"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "30", "-batch")


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    """A folder with ca.pem, node.pem/node.key signed by it, and other.pem, an authority of its own;
    locked.key is node.key with the password `open`."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("ca", "other"):
        openssl(
            folder,
            "req",
            "-x509",
            "-nodes",
            *KEY,
            "-subj",
            f"/CN={name}",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.pem",
        )
    openssl(
        folder,
        "req",
        "-nodes",
        *KEY,
        "-subj",
        "/C=CH/O=kraft, lake/CN=node1",
        "-keyout",
        "node.key",
        "-out",
        "node.csr",
    )
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl(
        folder,
        "x509",
        "-req",
        "-in",
        "node.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "30",
        "-extfile",
        "names",
        "-out",
        "node.pem",
    )
    openssl(
        folder, "ec", "-in", "node.key", "-aes128", "-passout", "pass:open", "-out", "locked.key"
    )
    return lambda name: str(folder / name)


@pytest.fixture(scope="module")
def node(pem):
    return Tls(pem("node.pem"), pem("node.key"), pem("ca.pem"))


async def principal_of(server_tls, client_tls, *, mutual=False):
    """Who the server says is asking."""

    async def whoami(client, request):
        return {"topics": [{"topicName": client.principal}]}

    service = Service(
        whoami,
        {VOTE.key: VOTE.versions},
        tls=server_context(server_tls, client_must_authenticate=mutual),
    )
    server = Server(service, Limits(handshake_s=5))
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
    context = server_context(node, client_must_authenticate=True)

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
    stranger = Tls(pem("other.pem"), pem("other.key"), pem("ca.pem"))
    with pytest.raises(PeerError, match="closed by the peer"):
        asyncio.run(principal_of(node, stranger, mutual=True))


def test_plain_text_is_refused(node):
    with pytest.raises(UnreachablePeerError):
        asyncio.run(principal_of(node, None))


def test_a_locked_key_opens_by_its_password_alone(pem):
    locked = Tls(pem("node.pem"), pem("locked.key"), pem("ca.pem"), "open")
    assert asyncio.run(principal_of(locked, locked, mutual=True)).startswith("CN=node1")
    for password in (None, "wrong"):
        with pytest.raises(UsageError, match=r"locked\.key: no PEM file .* password is wrong"):
            client_context(Tls(pem("node.pem"), pem("locked.key"), pem("ca.pem"), password))


def test_a_file_that_is_missing_or_none_is_named(pem, tmp_path):
    with pytest.raises(UnreadableFileError, match=r"gone\.pem: No such file"):
        client_context(Tls(authorities=pem("gone.pem")))
    text = tmp_path / "text"
    text.write_text("hello")
    with pytest.raises(UsageError, match="text: no PEM file with certificates"):
        client_context(Tls(authorities=str(text)))
    with pytest.raises(UsageError, match=r"set ssl\.keystore\.location"):
        server_context(Tls(), client_must_authenticate=False)
    with pytest.raises(UsageError, match=r"needs ssl\.truststore\.location"):
        server_context(Tls(pem("node.pem"), pem("node.key")), client_must_authenticate=True)


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
