"""How soon changes of a large cluster's metadata are committed, with and without snapshots.

python -m tests.bench.changes FOLDER [--partitions N] [--rate N] [--seconds N] [--every N]

Three voters of ours, each a process, begin with the same log of so many partitions. Whoever leads
appends changes of random partitions, so many a second, ten at once, after its state machine has the
log. Each voter writes a snapshot every --every seconds. An append counts as one with a snapshot if
the leader wrote one when the append began or when it was committed. The row belongs in
tests/bench/QUORUM.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from jobs.cli.engine import large_logs
from replica.metadata.codec import encode
from replica.node.assembly import opened
from replica.node.driver import Driver
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.raft.inputs import Append
from replica.raft.leader.leading import NotLeaderError
from replica.raft.roles import Leader
from tests.bench.quorum_of_one import write_properties
from tests.bench.start import TOPIC_PARTITIONS, fill
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import logged
from tests.replica.metadata.image.made import change

AT_ONCE, WARM_UP_S = 10, 10.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--rate", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=20.0)
    parser.add_argument("--voter", action="store_true", help="run the voter in FOLDER (for itself)")
    options = parser.parse_args()
    if options.voter:
        asyncio.run(voter(options.folder, options.partitions, options.rate))
        return 0
    folder = options.folder / "changes-bench"
    try:
        sys.stdout.write(measured(folder, options))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def measured(folder: Path, options: argparse.Namespace) -> str:
    ports = free_ports(3)
    voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in enumerate(ports, 1))
    paths = []
    for node_id, port in enumerate(ports, 1):
        more = {
            "node.id": node_id,
            "controller.quorum.voters": voters,
            "metadata.log.max.snapshot.interval.ms": int(options.every * 1000),
            "metadata.log.max.record.bytes.between.snapshots": 2**40,
        }
        paths.append(write_properties(folder / str(node_id), port, more))
        fill(paths[-1], 0, options.partitions)
    words = [sys.executable, "-m", "tests.bench.changes", "--voter"]
    words += ["--partitions", str(options.partitions), "--rate", str(options.rate)]
    processes = [logged(p.parent / "output.txt", [*words, str(p.parent)]) for p in paths]
    try:
        time.sleep(WARM_UP_S + options.seconds)
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(120)
    return "".join(told(path.parent) for path in paths)


def told(folder: Path) -> str:
    """A line about a voter that led."""
    lines = (folder / "commits.jsonl").read_text().splitlines()
    commits = [json.loads(line) for line in lines]
    snapshots = len(list((folder / "log").glob("*/*.checkpoint")))
    if not commits:
        return f"{folder.name} never led; {snapshots} snapshots\n"
    parts = [f"{folder.name} led epochs {sorted({c['epoch'] for c in commits})}"]
    for name, has_snapshot in (("without", False), ("with", True)):
        found = sorted(c["ms"] for c in commits if c["snapshot"] == has_snapshot)
        if found:
            shares = (found[int(len(found) * share)] for share in (0.5, 0.99, 0.999))
            shown = ", ".join(f"{ms:.1f}" for ms in shares)
            parts.append(f"{name} a snapshot {len(found)} appends, p50, p99, p999, most {shown}")
            parts[-1] += f", {found[-1]:.1f} ms"
    return "; ".join([*parts, f"{snapshots} snapshots"]) + "\n"


async def voter(folder: Path, partitions: int, rate: int) -> None:
    """Runs one voter, which appends while it leads."""
    settings = settings_in(read_properties(str(folder / "server.properties")))
    large_logs.prepare(settings.log_dir, replays=True)
    node, lock = opened(settings, lambda notice: print(notice.text, flush=True))  # noqa: T201
    with lock, (folder / "commits.jsonl").open("w") as written:
        stop = lambda: node.driver.shut_down(5000)  # noqa: E731
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        commits: list[dict[str, object]] = []
        appending = asyncio.create_task(append_all(node.driver, partitions, rate, commits))
        try:
            await node.run()
        finally:
            appending.cancel()
            written.writelines(json.dumps(commit) + "\n" for commit in commits)


async def append_all(
    driver: Driver, partitions: int, rate: int, commits: list[dict[str, object]]
) -> None:
    made, due, began = changes(partitions), 0.0, 0.0  # it begins with the first append
    pending: set[asyncio.Task[None]] = set()
    while True:
        role = driver.raft.role
        if not isinstance(role, Leader) or driver.host.is_behind or not driver.raft.high_watermark:
            due = time.monotonic()
            await asyncio.sleep(0.05)
            continue
        began = began or time.monotonic()
        due += AT_ONCE / rate
        values = tuple(next(made) for _ in range(AT_ONCE))
        kept = commits if time.monotonic() - began > WARM_UP_S else []
        task = asyncio.create_task(append(driver, role.epoch, values, kept))
        pending.add(task)
        task.add_done_callback(pending.discard)
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def append(
    driver: Driver, epoch: int, values: tuple[bytes, ...], commits: list[dict[str, object]]
) -> None:
    began, writes = time.monotonic(), driver.is_writing_snapshot
    try:
        await driver.append(Append(epoch, values))
    except NotLeaderError:
        return
    ms = (time.monotonic() - began) * 1000
    has_snapshot = writes or driver.is_writing_snapshot
    commits.append({"ms": ms, "snapshot": has_snapshot, "epoch": epoch})


def changes(partitions: int) -> Iterator[bytes]:
    chance = Random(os.getpid())
    while True:
        number = chance.randrange(partitions)
        topic_id = f"{number // TOPIC_PARTITIONS:021}A"
        isr = tuple(chance.sample(range(30), 2))
        partition_id = number % TOPIC_PARTITIONS
        yield encode(change(topicId=topic_id, partitionId=partition_id, isr=isr, leader=isr[0]))


if __name__ == "__main__":
    sys.exit(main())
