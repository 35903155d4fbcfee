"""Whose process a connection within this machine is."""

import os
import socket

import pytest

from replica.node.local_processes import (
    holders,
    is_loopback,
    is_within,
    normal,
    peer_uid,
    sockets,
)


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")]
)
def test_both_ends_of_a_connection_and_its_listener_are_this_process(family, host):
    with socket.socket(family) as server:
        server.bind((host, 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.socket(family) as client:
            client.connect((host, port))
            own = client.getsockname()[:2]
            table = sockets(own[1], port)
            end = table.end_of(own, ("127.0.0.1", port))
            (listening,) = table.listening("127.0.0.1", port)
            assert end.uid == listening.uid == os.geteuid()
            held = holders(frozenset({end.inode, -1}), os.geteuid())
            assert listening.inode in held[end.inode]
            assert not held[-1]
            assert table.end_of(("127.0.0.1", 1), ("127.0.0.1", port)) is None
    assert not sockets(port).listening("127.0.0.1", port)


def test_a_socket_on_all_addresses_listens_on_each_address():
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104
        port = server.getsockname()[1]
        assert len(sockets(port).listening("127.0.0.1", port)) == 1


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.0.1", "::1", "localhost", "LOCALHOST")),
        *((host, True) for host in ("::ffff:127.0.0.1",)),
        *((host, False) for host in ("", "0.0.0.0", "::", "10.0.0.1", "node1", "127.0.0.1.x")),  # noqa: S104
    ],
)
def test_only_loopback_addresses_are_this_machine_alone(host, expected):
    assert is_loopback(host) is expected


def test_an_address_has_one_spelling():
    assert normal(("::FFFF:127.0.0.1", 9)) == normal(("127.0.0.1", 9)) == ("127.0.0.1", 9)
    assert normal(("0:0::1", 9)) == ("::1", 9)


def test_the_peers_user_is_known_while_the_connection_is_open():
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = server.getsockname()
        with socket.create_connection(peer) as client:
            own = client.getsockname()
            accepted, _ = server.accept()
            with accepted:
                assert is_within(own, peer)
                assert peer_uid(own, peer) == os.geteuid()
    assert peer_uid(own, peer) is None
    assert not is_within(("10.0.0.1", 1), ("10.0.0.2", 2))
    assert is_within(("10.0.0.1", 1), ("10.0.0.1", 2))
