"""How long a replica's event loop stands still while a snapshot of many partitions is written.

python -m tests.bench.pauses PARTITIONS...

A heartbeat in the loop asks to be woken each millisecond. The lines belong in
tests/bench/QUORUM.md.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time

from replica.format.whole_batch import value_batch
from replica.host.host import BegunSnapshot
from replica.machines.metadata import MetadataMachine
from replica.metadata.codec import encode
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.storage.filesystem import LocalDisk
from replica.storage.recovery import open_log
from tests.replica.metadata.image.made import partition, topic

_A_BATCH = 1000


def main() -> int:
    for partitions in map(int, sys.argv[1:]):
        sys.stdout.write(asyncio.run(written(filled(partitions))))
    return 0


def filled(partitions: int) -> MetadataMachine:
    """A machine with one topic of so many partitions."""
    machine = MetadataMachine()
    values = [encode(topic()), *(encode(partition(partitionId=n)) for n in range(partitions))]
    for base in range(0, len(values), _A_BATCH):
        part = values[base : base + _A_BATCH]
        data = value_batch(base, 1, 0, part)
        machine.commit([Batch(base, base + len(part) - 1, 1, data=data)])
    return machine


async def written(machine: MetadataMachine) -> str:
    """Write a snapshot of the machine, as the driver does. Returns a line about the pauses."""
    pauses: list[float] = []
    beating = asyncio.create_task(beat(pauses))
    with tempfile.TemporaryDirectory() as folder:
        snapshots = open_log(LocalDisk(), f"{folder}/log").snapshots
        await asyncio.sleep(1)
        pauses.clear()
        began = time.perf_counter()
        snapshot_id = OffsetAndEpoch(machine.next_offset, 1)
        writer = snapshots.write(snapshot_id, 0, [])
        begun = BegunSnapshot(snapshot_id, writer, machine.snapshot_records())
        held = time.perf_counter() - began
        await asyncio.to_thread(begun.write)
        total = time.perf_counter() - began
    await asyncio.sleep(0.01)
    beating.cancel()
    pauses.sort()
    return (
        f"{machine.next_offset - 1:,} partitions: {total:.1f} s, of which {held * 1e3:.0f} ms in "
        f"the loop; pauses: median {pauses[len(pauses) // 2] * 1e3:.0f} ms, p99 "
        f"{pauses[len(pauses) * 99 // 100] * 1e3:.0f} ms, most {pauses[-1] * 1e3:.0f} ms\n"
    )


async def beat(pauses: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.001)
        pauses.append(time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
