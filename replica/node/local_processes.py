"""Finds the user and the process at the other end of a connection within this machine, on Linux.

/proc/net/tcp and tcp6 list each socket's addresses, user and inode. /proc/PID/fd lists the inodes
that a process holds; only the process's user and root may read it. An address alone proves nothing:
every user of a machine can connect from 127.0.0.1, and can use any free port.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

Address = tuple[str, int]
"""(IP address, port). The IP address is a text in the form of the module ipaddress. An IPv4 address
that is mapped into IPv6 is written as IPv4."""

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING = "0A"
_SOCKET = "socket:["
_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class Socket:
    """A row of /proc/net/tcp or tcp6."""

    own: Address
    """The address of this end."""
    peer: Address
    """The address of the other end."""
    is_listening: bool
    uid: int
    """The id of the user that made the socket."""
    inode: int


@dataclass(frozen=True, slots=True)
class Sockets:
    """All sockets of this machine (of its network namespace) at one moment."""

    rows: tuple[Socket, ...]

    def end_of(self, own: Address, peer: Address) -> Socket | None:
        """The socket at `own` that is connected to `peer`. None if that socket isn't on this
        machine."""
        wanted = (normal(own), normal(peer))
        return next((row for row in self.rows if (row.own, row.peer) == wanted), None)

    def listening(self, host: str, port: int) -> tuple[Socket, ...]:
        """The sockets that accept connections to an address, including sockets that listen on all
        addresses of the machine."""
        wanted = (normal((host, port))[0], *_WILDCARDS)
        return tuple(
            row
            for row in self.rows
            if row.is_listening and row.own[1] == port and row.own[0] in wanted
        )


def is_supported() -> bool:
    """Whether this system shows the user of each socket."""
    return os.path.exists(_TABLES[0])


def sockets(*ports: int) -> Sockets:
    """The sockets whose own port is one of `ports`; empty if the system doesn't show sockets. On a
    busy machine /proc/net/tcp and tcp6 have thousands of lines, so only the lines with these ports
    are parsed."""
    wanted = frozenset(f"{port:04X}" for port in ports)
    return Sockets(tuple(row for path in _TABLES for row in _rows(path, wanted)))


def holders(inodes: frozenset[int], uid: int) -> dict[int, frozenset[int]]:
    """For each socket's inode in `inodes`: the inodes of all sockets that the processes with this
    socket hold. Only processes of the user `uid` count. Each process is read once for all
    sockets."""
    found: dict[int, frozenset[int]] = dict.fromkeys(inodes, frozenset())
    for name in os.listdir("/proc") if inodes else ():
        if not name.isdigit():
            continue
        with suppress(OSError):  # the process has ended, or belongs to another user
            if os.stat(f"/proc/{name}").st_uid == uid:
                held = frozenset(_inodes(f"/proc/{name}/fd"))
                for inode in inodes & held:
                    found[inode] |= held
    return found


def is_within(own: Address, peer: Address) -> bool:
    """Whether both ends of a connection are on this machine."""
    host = normal(peer)[0]
    return is_loopback(host) or host == normal(own)[0]


def peer_uid(own: Address, peer: Address) -> int | None:
    """The id of the user whose process is at the other end of a connection within this machine.
    None if the system doesn't show the user, for example because the connection is closed."""
    end = sockets(peer[1]).end_of(peer, own)
    return None if end is None or not end.inode else end.uid


def addresses_of(host: str, port: int) -> frozenset[Address]:
    """The IP addresses of a host; empty for an unknown host. This call may ask a name server."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset()
    return frozenset(normal((str(entry[4][0]), port)) for entry in found)


def normal(address: Address) -> Address:
    """The same address in the form that this module's sockets have. A host name stays as it is."""
    host, port = address
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return address
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found), port


def is_loopback(host: str) -> bool:
    """Whether a host in a setting means this machine alone: a loopback address, or the name
    localhost."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(normal((host, 0))[0]).is_loopback
    except ValueError:
        return False


def _inodes(folder: str) -> Iterator[int]:
    for name in os.listdir(folder):
        with suppress(OSError):
            target = os.readlink(f"{folder}/{name}")
            if target.startswith(_SOCKET):
                yield int(target[len(_SOCKET) : -1])


def _rows(path: str, ports: frozenset[str]) -> Iterable[Socket]:
    try:
        with open(path, encoding="ascii") as table:
            lines = table.readlines()[1:]
    except OSError:
        return ()
    return (_row(line) for line in lines if line.split(maxsplit=2)[1].rpartition(":")[2] in ports)


def _row(line: str) -> Socket:
    """The socket in a row of /proc/net/tcp. The columns: number, local and remote address, state,
    queues, timer, retransmits, uid, timeout, inode (Linux:
    Documentation/networking/proc_net_tcp)."""
    fields = line.split()
    return Socket(
        _address(fields[1]),
        _address(fields[2]),
        fields[3] == _LISTENING,
        int(fields[7]),
        int(fields[9]),
    )


def _address(text: str) -> Address:
    """The address that /proc writes as hexadecimal words of 32 bits, each in the machine's own byte
    order."""
    host, _, port = text.partition(":")
    words = (host[at : at + 8] for at in range(0, len(host), 8))
    packed = b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words)
    return normal((str(ipaddress.ip_address(packed)), int(port, 16)))
