"""How long a replica's state machine takes to have a log when the replica starts.

python -m tests.bench.start FOLDER [--records N] [--partitions N] [--plain]

The log is that of a cluster with --partitions partitions; most of its records change a partition.
The replica is a process of its own, as a user starts it: the only voter of its quorum. Its metrics
show which records its state machine has got. --plain: without the bulk reader's compiled code, as
where numpy isn't installed. The lines belong in tests/bench/QUORUM.md.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from random import Random

from replica.format.whole_batch import value_batch
from replica.metadata.codec import encode
from replica.model.batch import Batch
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from tests.bench.memory import resident
from tests.bench.processes import cpu_seconds
from tests.bench.quorum_of_one import write_properties
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import started
from tests.replica.metadata.image.made import change, partition, topic

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
TOPIC_PARTITIONS, _A_BATCH = 100, 50
_WITHIN_S = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    folder = options.folder / "start-bench"
    (port, metrics) = free_ports(2)
    path = write_properties(folder, port, {"kraftlake.metrics.listener": f"127.0.0.1:{metrics}"})
    size, end = fill(path, options.records, options.partitions)
    try:
        sys.stdout.write(measured(folder, path, metrics, size, end, plain=options.plain))
    finally:
        shutil.rmtree(folder)
    return 0


def values(records: int, partitions: int) -> Iterator[bytes]:
    """Topics with their partitions, then changes of leader and ISR in random partitions."""
    chance, written = Random(1), 0
    ids = [f"{number:021}A" for number in range(partitions // TOPIC_PARTITIONS)]
    for number, topic_id in enumerate(ids):
        yield encode(topic(f"topic-{number}", topic_id))
        for partition_id in range(TOPIC_PARTITIONS):
            replicas = tuple((number + partition_id + n) % 30 for n in range(3))
            fields = {"replicas": replicas, "isr": replicas, "leader": replicas[0]}
            yield encode(partition(topicId=topic_id, partitionId=partition_id, **fields))
        written += TOPIC_PARTITIONS + 1
    for _ in range(records - written):
        topic_id, partition_id = chance.choice(ids), chance.randrange(TOPIC_PARTITIONS)
        isr = tuple(chance.sample(range(30), 2))
        yield encode(change(topicId=topic_id, partitionId=partition_id, isr=isr, leader=isr[0]))


def fill(path: Path, records: int, partitions: int, first: Iterable[bytes] = ()) -> tuple[int, int]:
    """Writes the log. Gives (bytes, end offset). first: values of the records at its beginning."""
    settings = settings_in(read_properties(str(path)))
    format_node(LocalDisk(), settings, CLUSTER_ID)
    log = open_log(LocalDisk(), settings.partition_folder, settings.log, settings.topic.id)
    batch: list[bytes] = []
    for value in chain(first, values(records, partitions)):
        batch.append(value)
        if len(batch) == _A_BATCH:
            append(log, batch)
            batch = []
    if batch:
        append(log, batch)
    size, end = log.size_bytes, log.log_end
    log.close()
    return size, end


def append(log: FileLog, batch: list[bytes]) -> None:
    base = log.log_end
    data = value_batch(base, 1, 1000, batch)
    log.append([Batch(base, base + len(batch) - 1, 1, 1000, (), data)])


def measured(folder: Path, path: Path, metrics: int, size: int, end: int, *, plain: bool) -> str:
    """Starts the replica, and waits until its machine has the log."""
    variables = {"NUMBA_CPU_NAME": "none"} if plain else {}  # for this name nothing is compiled
    began = time.monotonic()
    process = started(folder / "output.txt", "replica", "run", "-c", path, variables=variables)
    led = None
    try:
        while time.monotonic() - began < _WITHIN_S:
            assert process.poll() is None, (folder / "output.txt").read_text()
            found = scraped(metrics)
            if led is None and "leader, leader 1" in (folder / "output.txt").read_text():
                led = time.monotonic() - began
            if found.get("kraftlake_applied_end_offset", 0) >= end:
                break
            time.sleep(0.02)
        took, cpu = time.monotonic() - began, cpu_seconds(process.pid)
        memory = resident(process.pid)[0] / 2**20
    finally:
        process.terminate()
        process.wait(60)
    return (
        f"{end:,} records of {size / end:.0f} B: {took:.1f} s, {took / end * 1e6:.1f} us for each, "
        f"{cpu:.1f} s of CPU, {memory:.0f} MiB; leader after {led or -1:.1f} s\n"
    )


def scraped(port: int) -> dict[str, float]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return {}
    rows = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in rows}


if __name__ == "__main__":
    sys.exit(main())
