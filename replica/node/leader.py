"""Requests to the leader beside those of the consensus core."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from replica.errors import UnreachablePeerError, UnsupportedByPeerError
from replica.node.driver import Driver
from replica.raft.roles import Follower
from replica.wire.client import ClientConfig, Connection
from replica.wire.pool import Address
from replica.wire.schema import Api, Message

LONGEST_MS = 60_000
"""How long a request may name as its own timeout; Kafka's default.api.timeout.ms."""


def leader_address(driver: Driver) -> Address | None:
    """Where the leader that this replica follows listens; None where it follows nobody."""
    role = driver.raft.role
    if not isinstance(role, Follower):
        return None
    listener = driver.config.default_listener
    found = (each for each in role.leader_endpoints if each.name == listener)
    return next(((each.host, each.port) for each in found), None)


async def ask_leader(
    leader: Address, config: ClientConfig, api: Api, message: Message, version: int
) -> Message:
    """The leader's answer, by a connection of its own: a request that waits for its commit must not
    delay another, least of all a fetch.

    config: as for peers; an answer may take its timeout and what the request itself allows
    (timeoutMs). Raises PeerError.
    """
    allowed_ms = min(max(message.get("timeoutMs", 0), 0), LONGEST_MS)
    patient = replace(config, timeout_s=config.timeout_s + allowed_ms / 1000)
    try:
        async with asyncio.timeout(config.timeout_s):
            connection = await Connection.connect(*leader, patient)
    except TimeoutError as error:
        address = f"{leader[0]}:{leader[1]}"
        raise UnreachablePeerError(address, "no connection in time") from error
    try:
        if version not in connection.versions.get(api.key, ()):
            raise UnsupportedByPeerError(connection.address, f"{api} v{version} isn't served")
        return (await connection.call(api, message, version)).message
    finally:
        await connection.close()
