"""A single leader of the metadata topic in this process, and recorders of it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

from replica.format.file_names import METADATA_FOLDER
from replica.metadata.codec import encode
from replica.node.observer.recorder import Observation, opened_recorder
from replica.wire.client import ClientConfig
from tests.replica.metadata.image.made import topic
from tests.replica.node.running import append, leads, running

METADATA = {"kraftlake__topic__name": None, "kraftlake__topic__id": None}
WITHIN_S = 120
SMALL_SNAPSHOTS = {"metadata__log__max__record__bytes__between__snapshots": "300"}


def played(story):
    """The result of an async function without arguments, within the time of a test."""

    async def main():
        async with asyncio.timeout(WITHIN_S):
            return await story()

    return asyncio.run(main())


@asynccontextmanager
async def leading(tmp_path, **changed):
    """A leading voter, node 1. changed: settings of the test."""
    async with running(tmp_path, **METADATA, **changed) as node:
        await leads(node)
        yield node


def address_of(node):
    (listener,) = node.settings.listeners
    return "127.0.0.1", listener.port


async def write_topics(node, first, count):
    """Appends topics, and waits until the snapshot that became due by them is written."""
    for number in range(first, first + count):
        await append(node, encode(topic(f"topic-{number}", f"{number:021}A")))
    while node.driver.is_writing_snapshot:
        await asyncio.sleep(0.01)


def observation(tmp_path, *nodes, **changed):
    found = tuple(address_of(node) if not isinstance(node, tuple) else node for node in nodes)
    values = {"folder": str(tmp_path / "recording"), "client": ClientConfig(timeout_s=2.0)}
    return Observation(found, **{**values, **changed})


@asynccontextmanager
async def recorder_of(wanted, said=None):
    """A recorder that runs until the block ends."""
    said = [] if said is None else said
    recorder = await opened_recorder(wanted, lambda notice: said.append(notice.text))
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        recorder.stop()
        with suppress(asyncio.CancelledError):
            await task


async def recorded(recorder, end):
    """Waits until everything below an offset is recorded and known to be committed."""
    raft = recorder.node.driver.host.raft
    while (raft.high_watermark or 0) < end or raft.log.flushed_end < end:
        await recorder.node.driver.wait_for_news(0.05)


def segments(folder):
    """The bytes of all segments of a node's metadata folder, one after the other."""
    paths = sorted((folder / METADATA_FOLDER).glob("*.log"))
    return b"".join(path.read_bytes() for path in paths)
