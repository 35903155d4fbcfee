"""The same of listeners with TLS and passwords: before anybody has said who they are."""

import socket
import ssl
import time
from contextlib import ExitStack, contextmanager

import pytest

from replica.node.security.scram_file import line_for
from tests.replica.node.floods.flooded import FILES, HOST, flooded, guessing, strangers
from tests.replica.node.security.quorum import (
    SASL_SSL,
    config_of,
    make_certificates,
    with_password,
)

MIB = 1024 * 1024
FEW_BYTES = f"socket.request.max.bytes={MIB}\nqueued.max.request.bytes={MIB}\n"
LARGEST = 512 * 1024
"""Of a frame before login."""
GUESSERS = 5
"""Strangers who guess passwords at each node."""
CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
"""How one begins."""


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secure")
    make_certificates(folder)
    (folder / "scram").write_text(line_for("admin", "SCRAM-SHA-512", "of-admin", 4096))
    with flooded(folder, SASL_SSL + FEW_BYTES) as running:
        yield running


@pytest.fixture(scope="module")
def admin(secure):
    return config_of(with_password(secure.folder, "admin", "of-admin", "SCRAM-SHA-512"))


@contextmanager
def shaken_hands(port, count, sent):
    """`count` connections with TLS and without login, which say `sent`."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with ExitStack() as stack:
        for _ in range(count):
            plain = stack.enter_context(socket.create_connection((HOST, port), 5))
            stack.enter_context(context.wrap_socket(plain)).sendall(sent)
        yield


def test_a_quorum_commits_while_strangers_guess_passwords_and_none_is_let_in(secure, admin):
    """Each guess waits a second for its answer, so a connection has one guess a second."""
    before, refused = secure.epoch_and_leader(1, 2, 3), secure.refused("SASL")
    guesses = [
        config_of(with_password(secure.folder, user, password, mechanism))
        for user, password, mechanism in (
            ("admin", "guessed", "SCRAM-SHA-512"),
            ("admin", "of-admin", "SCRAM-SHA-256"),
            ("nobody", "guessed", "SCRAM-SHA-512"),
            ("voter", "guessed", "PLAIN"),
        )
    ]
    took, began = [], time.monotonic()
    with guessing(secure.ports.values(), GUESSERS, guesses) as tried:
        while time.monotonic() < began + 4:
            start = time.monotonic()
            secure.append(admin, b"while strangers guess")
            took.append(time.monotonic() - start)
    lasted = time.monotonic() - began
    guessed = secure.refused("SASL") - refused
    assert tried.entered == []
    assert max(took) < 3
    assert GUESSERS * len(secure.ports) < guessed <= GUESSERS * len(secure.ports) * (lasted + 1)
    assert secure.epoch_and_leader(1, 2, 3) == before


@pytest.mark.parametrize("come", [0, LARGEST - 1])
def test_strangers_before_login_delay_nobody_who_logs_in(secure, admin, come):
    before = secure.epoch_and_leader(1, 2, 3)
    sent = LARGEST.to_bytes(4, "big") + bytes(come)
    with ExitStack() as stack:
        for port in secure.ports.values():
            stack.enter_context(shaken_hands(port, 20, sent))
        began = time.monotonic()
        secure.append(admin, bytes(MIB // 2))
        assert time.monotonic() - began < 3
        assert secure.epoch_and_leader(1, 2, 3) == before


def test_voters_elect_while_strangers_never_end_their_handshakes(secure, admin):
    epoch, leader = secure.epoch_and_leader(1, 2, 3)
    others = [node_id for node_id in secure.ports if node_id != leader]
    with strangers([secure.ports[n] for n in others], FILES, CLIENT_HELLO):
        secure.kill(leader)
        try:
            newer, _ = secure.epoch_and_leader(*others, after=epoch)
            assert [secure.voted_epoch(n) for n in others] == [newer, newer]
            secure.append(admin, b"under flood")
        finally:
            secure.start(leader)
