"""Another process of the same user, which is no voter. It sends one request, given as JSON, and
prints the answer as JSON. Meanwhile it may listen on a port of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from replica.wire.apis import APIS
from replica.wire.client import ClientConfig, Connection

BY_NAME = {api.name: api for api in APIS.values()}
ROOT = Path(__file__).parents[4]


def ask_as_stranger(port, api, version, message, listen_on=0):
    """The answer that this process gets."""
    command = (str(port), api.name, str(version), json.dumps(message), str(listen_on))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.replica.node.security.stranger", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


async def main(port, name, version, message, listen_on):
    server = None
    if int(listen_on):
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", int(listen_on))
    connection = await Connection.connect("127.0.0.1", int(port), ClientConfig(timeout_s=20.0))
    answer = await connection.call(BY_NAME[name], json.loads(message), int(version))
    await connection.close()
    if server is not None:
        server.close()
    sys.stdout.write(json.dumps(answer.message, default=repr))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
