"""A server and a client on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib

from replica.wire.apis.fetching import FETCH
from replica.wire.apis.quorum import VOTE
from replica.wire.client import ClientConfig, Connection
from replica.wire.limits import ListenerLimits
from replica.wire.server import Server, Service

SERVED = {VOTE.key: VOTE.versions, FETCH.key: range(4, 13)}
HOST = "127.0.0.1"
DEFAULTS = ListenerLimits()


async def echo(client, request):
    """Answers with the voter's id as errorCode. A fetch waits for its own waiting time."""
    if request.api is FETCH:
        await asyncio.sleep(request.message["maxWaitMs"] / 1000)
        return {"sessionId": request.message["sessionId"]}
    return {"errorCode": request.message["voterId"]}


@contextlib.asynccontextmanager
async def running(handler=echo, limits=DEFAULTS, served=SERVED, shared=None, **service):
    server = Server(Service(handler, served, **service), limits, shared)
    server.port = await server.start(HOST, 0)
    try:
        yield server
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def connected(server, **config):
    connection = await Connection.connect(HOST, server.port, ClientConfig(**config))
    try:
        yield connection
    finally:
        await connection.close()
