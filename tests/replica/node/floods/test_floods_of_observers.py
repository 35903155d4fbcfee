"""What strangers can't do to `replica observe --listen`."""

import asyncio
from contextlib import suppress

import pytest

from replica.errors import PeerError
from replica.node.settings import Topic
from replica.wire.apis.fetching import FETCH
from replica.wire.client import Connection
from tests.kraftlake_process import started
from tests.replica.node.floods.flooded import CLIENT, FILES, HOST, flooded, strangers
from tests.replica.node.running import at, free_port, the

METADATA = Topic()
CLAIM = (16 * 1024 * 1024).to_bytes(4, "big")


@pytest.fixture(scope="module")
def observer_port(tmp_path_factory):
    """Where an observer of a metadata log listens."""
    tmp_path = tmp_path_factory.mktemp("observed")
    with flooded(tmp_path, topic="") as quorum:
        port = free_port()
        process = started(
            tmp_path / "observer.txt",
            "replica",
            "observe",
            "-b",
            quorum.bootstrap,
            "-o",
            tmp_path / "recording",
            "--listen",
            f"{HOST}:{port}",
            open_files=(FILES, FILES),
        )
        try:
            yield port
            assert process.poll() is None, (tmp_path / "observer.txt").read_text()
        finally:
            process.kill()
            process.wait()


async def read_from(port):
    """What a reader gets from there, as soon as there is something."""
    topics = at(FETCH, METADATA, fetchOffset=0, partitionMaxBytes=2**20)
    request = {"replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 2**20}
    while True:
        with suppress(PeerError):
            connection = await Connection.connect(HOST, port, CLIENT)
            try:
                answer = await connection.call(FETCH, {**request, "topics": topics})
                found = the(answer.message["responses"])
                if found["records"]:
                    return found["records"]
            finally:
                await connection.close()
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("sent", [b"", CLAIM, CLAIM + bytes(2**20)])
def test_readers_are_answered_while_more_strangers_are_there_than_files(observer_port, sent):
    before = asyncio.run(asyncio.wait_for(read_from(observer_port), 30))
    with strangers([observer_port], FILES + 50, sent):
        assert asyncio.run(asyncio.wait_for(read_from(observer_port), 3)) == before
