"""Requests to the leader that the consensus core doesn't send."""

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
"""The longest timeout that a request may name, in ms: Kafka's default.api.timeout.ms."""


def leader_address(driver: Driver) -> Address | None:
    """The address of the leader that this replica follows. None where the replica follows no
    leader."""
    role = driver.raft.role
    if not isinstance(role, Follower):
        return None
    listener = driver.config.default_listener
    found = (each for each in role.leader_endpoints if each.name == listener)
    return next(((each.host, each.port) for each in found), None)


async def ask_leader(
    leader: Address, config: ClientConfig, api: Api, message: Message, version: int
) -> Message:
    """Send the leader a request over a connection that serves this request alone: a request that
    waits for its commit must not delay others, least of all a fetch.

    config: the settings of connections to peers. The answer may take the config's timeout plus the
    time that the request itself allows (timeoutMs). Raises PeerError where no answer comes.
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
