"""A recorder of a quorum of kraftlake's voters, watched as by `replica observe --metrics`."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from contextlib import asynccontextmanager

from prometheus_client.parser import text_string_to_metric_families

from replica.doctor.watching.watch import Watch
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.node.observer.recorder import opened_recorder
from tests.replica.metadata.image.made import topic
from tests.replica.node.observer.recording import observation
from tests.replica.node.running import free_port


@asynccontextmanager
async def watched(tmp_path, *addresses, **changed):
    """(recorder, watch, port) of an observer that is scraped, until the block ends."""
    port = free_port()
    wanted = observation(tmp_path, *addresses, metrics=("127.0.0.1", port), **changed)
    said = set()
    recorder = await opened_recorder(wanted, lambda notice: said.add(notice.event))
    node = recorder.node
    watch = Watch(node, node.settings.bootstrap_servers, wanted.client, {})
    node.collectors.append(watch.metrics)
    watching = asyncio.create_task(watch.run())
    running = asyncio.create_task(recorder.run())
    try:
        while "metrics" not in said and not running.done():
            await asyncio.sleep(0.01)
        yield recorder, watch, port
    finally:
        recorder.stop()
        await running
        watching.cancel()
        await asyncio.wait((watching,))


def page(port, path="/metrics"):
    """(status, text) of a page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def samples(text):
    """The values of metrics by name; metrics with labels by name and labels' values, in the order
    of the labels' names."""
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels)))
        if sample.labels
        else sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def scraped(port):
    return samples((await asyncio.to_thread(page, port))[1])


async def scraped_until(port, holds, within_s=30.0):
    """The first scrape for which `holds` gives true."""
    async with asyncio.timeout(within_s):
        while True:
            found = await scraped(port)
            if holds(found):
                return found
            await asyncio.sleep(0.05)


def broker(number, *, fenced=False):
    fields = {
        "brokerId": number,
        "brokerEpoch": number,
        "incarnationId": f"{number:021}A",
        "fenced": fenced,
    }
    return encode(new_record("REGISTER_BROKER_RECORD", 1, fields))


def topic_with_partition(number, *, leader=1, replicas=(1, 2), isr=(1, 2)):
    topic_id = f"{number:021}A"
    fields = {
        "partitionId": 0,
        "topicId": topic_id,
        "replicas": replicas,
        "isr": isr,
        "leader": leader,
    }
    return [
        encode(topic(f"topic-{number}", topic_id)),
        encode(new_record("PARTITION_RECORD", 0, fields)),
    ]
