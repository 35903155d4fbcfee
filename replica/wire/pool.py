"""Keeps one connection to each address. A connection is made when it is needed, and again after a
failure."""

from __future__ import annotations

import asyncio

from replica.wire.client import ClientConfig, Connection
from replica.wire.versions import Identity

Address = tuple[str, int]
"""Host and port."""


class Pool:
    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._connections: dict[Address, Connection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}

    @property
    def connected(self) -> tuple[Address, ...]:
        """The addresses to which there is an open connection."""
        return tuple(a for a, connection in self._connections.items() if connection.is_open)

    async def connection(self, address: Address, expected: Identity | None = None) -> Connection:
        """An open connection to the address. Callers that ask while a connection is being made wait
        for that connection. expected: the node that a new connection has to reach. Raises
        UnreachablePeerError, AuthenticationError or UnsupportedByPeerError if a new connection
        can't be opened."""
        async with self._opening.setdefault(address, asyncio.Lock()):
            found = self._connections.get(address)
            if found is None or not found.is_open:
                if found is not None:
                    await found.close()
                found = await Connection.connect(*address, self._config, expected)
                self._connections[address] = found
            return found

    async def close(self) -> None:
        """Close all connections. Callers that wait for an answer get UnreachablePeerError."""
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()
