"""How long an observer with an empty disk takes to fetch a large log from its leader.

python -m tests.bench.catch_up FOLDER [--gigabytes N]

The leader is a kraftlake replica in its own process, the only voter. Its log holds changes of
partitions in batches of 64 records, and it replays none of them. The observer is `kraftlake replica
observe`, as a user starts it. The row belongs in tests/bench/QUORUM.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import sys
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from replica.format.whole_batch import value_batch
from replica.model.batch import Batch
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.storage.filesystem import LocalDisk
from replica.storage.recovery import open_log
from tests.bench import observe
from tests.bench.memory import resident
from tests.bench.processes import cpu_seconds
from tests.bench.quorum_of_one import write_properties
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import logged, started

GIGABYTE = 1_000_000_000
BATCH_RECORDS = 64
LOOK_EVERY_S = 0.1
_WITHIN_S = 3600.0


def filled(folder: Path, port: int, size: int) -> tuple[Path, Path]:
    """(server.properties, folder of the log) of a leader whose log has `size` bytes."""
    path = write_properties(folder, port, observe.NO_SNAPSHOTS)
    settings = settings_in(read_properties(str(path)))
    format_node(LocalDisk(), settings, observe.CLUSTER_ID)
    log = open_log(LocalDisk(), settings.partition_folder, settings.log, settings.topic.id)
    whole, end = value_batch(0, 1, 1000, list(islice(observe.values(), 3, 3 + BATCH_RECORDS))), 0
    for _ in range(size // len(whole)):
        data = struct.pack(">q", end) + whole[8:]
        log.append([Batch(end, end + BATCH_RECORDS - 1, 1, 1000, (), data)])
        end += BATCH_RECORDS
    log.close()
    return path, Path(settings.partition_folder)


def measured(folder: Path, size: int) -> str:
    (port,) = free_ports(1)
    path, log = filled(folder / "leader", port, size)
    words = [sys.executable, "-m", "tests.bench.observe", "--lead", str(path), "--rate", "0"]
    leading = logged(folder / "leader" / "output.txt", words)
    recording = folder / "recording"
    where = ("-b", f"127.0.0.1:{port}", "-o", recording, "--cluster-id", observe.CLUSTER_ID)
    with observe.ended(leading, log) as leader:
        before = leader.size
        while leader.size == before:  # the leader writes a record once it leads
            assert leading.poll() is None, (folder / "leader" / "output.txt").read_text()
            time.sleep(LOOK_EVERY_S)
        cpu, began = cpu_seconds(leading.pid), time.monotonic()
        process = started(folder / "observer.txt", "replica", "observe", *where)
        with observe.ended(process, recording / observe.LOG) as observer:
            most = 0
            while observer.size < leader.size:
                assert process.poll() is None, (folder / "observer.txt").read_text()
                assert time.monotonic() - began < _WITHIN_S
                most = max(most, resident(process.pid)[0])
                time.sleep(LOOK_EVERY_S)
            took, has = time.monotonic() - began, observer.size / GIGABYTE
            costs = (cpu_seconds(leading.pid) - cpu) / has, cpu_seconds(process.pid) / has
    return (
        f"| {has:.2f} | {took:.1f} | {has * 1000 / took:,.0f} | {costs[0]:.2f} | {costs[1]:.2f} | "
        f"{most / observe.MEBIBYTE:.0f} |\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=10.0)
    options = parser.parse_args()
    folder = options.folder / "catch-up-bench"
    sys.stdout.write(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before, {datetime.now(UTC).date()}"
        "\n\n| GB | seconds | MB/s | CPU s for a GB: leader | observer | memory of the observer, "
        "MiB: most |\n|---|---|---|---|---|---|\n"
    )
    try:
        sys.stdout.write(measured(folder, int(options.gigabytes * GIGABYTE)))
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
