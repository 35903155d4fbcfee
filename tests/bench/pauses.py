"""How long a replica's event loop stands still while a snapshot of many partitions is written,
while it is loaded, and while as many records of the log are replayed.

python -m tests.bench.pauses PARTITIONS... [--plain]

A heartbeat in the loop asks to be woken each millisecond. --plain: without the bulk reader's
compiled code. The lines belong in tests/bench/QUORUM.md.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

from replica.format.whole_batch import value_batch
from replica.host.host import BegunSnapshot
from replica.host.replay import BegunReplay
from replica.machines.metadata import MetadataMachine, use
from replica.metadata.codec import encode
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import SnapshotFacts
from replica.node.threads import in_child, in_thread
from replica.scan import stored_replay
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.storage.snapshots import SnapshotFiles
from tests.replica.metadata.image.made import partition, topic

_A_BATCH = 1000


def main() -> int:
    words = sys.argv[1:]
    if "--plain" not in words:
        stored_replay.load()
        use(stored_replay.replay_stored)
    for word in words:
        if word != "--plain":
            with tempfile.TemporaryDirectory() as folder:
                asyncio.run(measured(int(word), folder))
    return 0


async def measured(partitions: int, folder: str) -> None:
    log = open_log(LocalDisk(), f"{folder}/log")
    fill(log, partitions)
    machine = MetadataMachine()
    machine.commit(log.batches(0, log.log_end))
    snapshot_id = OffsetAndEpoch(machine.next_offset, 1)

    def snapshot() -> Callable[[], object]:
        writer = log.snapshots.write(snapshot_id, 0, [])
        return BegunSnapshot(snapshot_id, writer, machine.snapshot_records()).write

    await shown(f"snapshot of {partitions:,} partitions", snapshot, in_child)
    log.snapshots.add(check_written(folder, snapshot_id))
    loads = log.snapshots.stored(snapshot_id)
    replays = log.stored(0, log.log_end)
    for name, loaded, batches in (("load", snapshot_id, loads), ("replay", None, replays)):
        begun = BegunReplay(MetadataMachine(), loaded, snapshot_id.offset, batches)
        name = f"{name} of {partitions:,} partitions"
        await shown(name, lambda begun=begun: begun.run, in_thread)
    log.close()


def check_written(folder: str, snapshot_id: OffsetAndEpoch) -> SnapshotFacts:
    """The facts of the snapshot in the log's folder."""
    (facts,) = SnapshotFiles(LocalDisk(), f"{folder}/log").facts()
    assert facts.snapshot_id == snapshot_id
    return facts


def fill(log: FileLog, partitions: int) -> None:
    """Fills the log with one topic of `partitions` partitions."""
    values = [encode(topic()), *(encode(partition(partitionId=n)) for n in range(partitions))]
    for base in range(0, len(values), _A_BATCH):
        part = values[base : base + _A_BATCH]
        data = value_batch(base, 1, 0, part)
        log.append([Batch(base, base + len(part) - 1, 1, data=data)])


async def shown(
    name: str,
    begin: Callable[[], Callable[[], object]],
    beside: Callable[[Callable[[], object]], Awaitable[object]],
) -> None:
    """Runs a task as the driver does, and prints a line about the pauses. begin: runs the part in
    the loop, and returns the other part, which `beside` runs in another thread or process."""
    pauses: list[float] = []
    beating = asyncio.create_task(beat(pauses))
    await asyncio.sleep(1)
    pauses.clear()
    began = time.perf_counter()
    run = begin()
    held = time.perf_counter() - began
    await beside(run)
    total = time.perf_counter() - began
    await asyncio.sleep(0.01)
    beating.cancel()
    pauses.sort()
    sys.stdout.write(
        f"{name}: {total:.1f} s, of which {held * 1e3:.0f} ms in the loop; "
        f"pauses: median {pauses[len(pauses) // 2] * 1e3:.0f} ms, p99 "
        f"{pauses[len(pauses) * 99 // 100] * 1e3:.0f} ms, most {pauses[-1] * 1e3:.0f} ms\n"
    )


async def beat(pauses: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.001)
        pauses.append(time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
