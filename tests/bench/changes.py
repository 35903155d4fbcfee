"""How soon changes of a large cluster's metadata are committed, with and without snapshots.

python -m tests.bench.changes FOLDER [--partitions N] [--rate N] [--seconds N] [--every N] [--kafka]

Three kraftlake voters, each a process, begin with the same log of --partitions partitions. Once the
leader's state machine has the log, the leader appends --rate changes of random partitions per
second, ten in one append. Each voter writes a snapshot every --every seconds. An append counts as
one with a snapshot if the leader was writing a snapshot when the append began or when it was
committed. --kafka: afterwards a client requests as many changes, first of kraftlake's voters and
then of real controllers of Kafka (tests.bench.asked_changes). The rows belong in
tests/bench/QUORUM.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

from jobs.cli.engine import large_logs
from replica.node.assembly import opened
from replica.node.driver import Driver
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.raft.inputs import Append
from replica.raft.leader.leading import NotLeaderError
from replica.raft.roles import Leader
from tests.bench import asked_changes
from tests.bench.partition_changes import AT_ONCE, Commit, changes, told
from tests.kraftlake_process import logged

WARM_UP_S = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--rate", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=20.0)
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--warm-up", type=float, default=30.0, help="before requests are counted")
    parser.add_argument("--voter", action="store_true", help="run the voter in FOLDER (for itself)")
    options = parser.parse_args()
    if options.voter:
        asyncio.run(voter(options.folder, options.partitions, options.rate))
        return 0
    folder = options.folder / "changes-bench"
    try:
        sys.stdout.write(measured(folder, options))
        for line in asked_changes.measured(folder, options) if options.kafka else ():
            sys.stdout.write(line)
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def measured(folder: Path, options: argparse.Namespace) -> str:
    paths = asked_changes.prepared(folder, options).values()
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
    return "".join(line(path.parent) for path in paths)


def line(folder: Path) -> str:
    """A line about a voter, from the commits and the log in its folder."""
    lines = (folder / "commits.jsonl").read_text().splitlines()
    snapshots = f"{len(list((folder / 'log').glob('*/*.checkpoint')))} snapshots"
    if not lines:
        return f"{folder.name} never led; {snapshots}\n"
    return told(folder.name, [Commit(**json.loads(line)) for line in lines], snapshots)


async def voter(folder: Path, partitions: int, rate: int) -> None:
    """Runs one voter, which appends while it leads."""
    settings = settings_in(read_properties(str(folder / "server.properties")))
    large_logs.prepare(settings.log_dir, replays=True)
    node, lock = opened(settings, lambda notice: print(notice.text, flush=True))  # noqa: T201
    with lock, (folder / "commits.jsonl").open("w") as written:
        stop = lambda: node.driver.shut_down(5000)  # noqa: E731
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        commits: list[Commit] = []
        appending = asyncio.create_task(append_all(node.driver, partitions, rate, commits))
        try:
            await node.run()
        finally:
            appending.cancel()
            written.writelines(json.dumps(asdict(commit)) + "\n" for commit in commits)


async def append_all(driver: Driver, partitions: int, rate: int, commits: list[Commit]) -> None:
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
    driver: Driver, epoch: int, values: tuple[bytes, ...], commits: list[Commit]
) -> None:
    began, writes = time.monotonic(), driver.is_writing_snapshot
    try:
        await driver.append(Append(epoch, values))
    except NotLeaderError:
        return
    ms = (time.monotonic() - began) * 1000
    has_snapshot = writes or driver.is_writing_snapshot
    commits.append(Commit(ms, has_snapshot, epoch))


if __name__ == "__main__":
    sys.exit(main())
