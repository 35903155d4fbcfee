"""A built-in load, as in kafka.tools.TestRaftServer: while this replica leads, it appends a given
number of records per second, and reports how many were committed and how fast."""

from __future__ import annotations

import asyncio
import itertools
import os
from bisect import bisect_left
from dataclasses import dataclass

from replica.node.driver import Driver
from replica.node.notice import Notice, Report
from replica.raft.inputs import Append
from replica.raft.leader.accumulator import BufferAllocationError
from replica.raft.leader.leading import NotLeaderError
from replica.raft.roles import Leader

REPORT_EVERY_S = 5.0
TICK_S = 0.001


@dataclass(frozen=True, slots=True)
class AppendLoad:
    """The load: how many records to append, and of which size."""

    rate: int
    """The number of records per second."""
    record_bytes: int
    """The size of each record's value in bytes."""


Commits = list[tuple[float, int]]
"""The commits since the last report: for each append the time (ms) from append to commit, and the
number of its records. The list has an entry for each append, not for each record, because sorting
so many entries would delay the next records. An append has no entry if the append was refused, or
if this replica stopped leading before the commit."""


def figures(commits: Commits, load: AppendLoad, took_s: float) -> Notice:
    """A notice with the records and bytes per second, and the latencies within which 75, 99 and
    99.9 % of the records were committed."""
    ordered = sorted(commits)
    counts = list(itertools.accumulate(count for _, count in ordered))
    rate = counts[-1] / took_s
    shares = {
        name: round(ordered[bisect_left(counts, -(-counts[-1] * share // 1000))][0], 1)
        for name, share in (("p75", 750), ("p99", 990), ("p999", 999))
    }
    text = (
        f"{rate:.1f} records/s, {rate * load.record_bytes:.0f} bytes/s, latency (ms): "
        + ", ".join(f"{name} {ms:.1f}" for name, ms in shares.items())
    )
    facts = {f"latency_ms_{name}": ms for name, ms in shares.items()}
    return Notice("workload", text, {"records_per_s": round(rate, 1), **facts})


async def run_load(driver: Driver, load: AppendLoad, report: Report) -> None:
    """Append until cancelled. The load waits for no commit. While too many records wait to be
    appended, further appends are refused, and their records are left out."""
    value = os.urandom(load.record_bytes)
    loop = asyncio.get_running_loop()
    commits: Commits = []
    reported = loop.time()
    pending: set[asyncio.Task[None]] = set()
    due = loop.time()
    while True:
        now = loop.time()
        role = driver.raft.role
        if not isinstance(role, Leader) or role.high_watermark is None:
            due = now
            await driver.wait_for_news(1.0)
            continue
        count = min(int((now - due) * load.rate), max(1, load.rate // 10))
        if count:
            due += count / load.rate
            task = asyncio.create_task(_append(driver, role.epoch, (value,) * count, commits))
            pending.add(task)
            task.add_done_callback(pending.discard)
        if now - reported >= REPORT_EVERY_S:
            if commits:
                report(figures(commits, load, now - reported))
            commits.clear()
            reported = now
        await asyncio.sleep(TICK_S)


async def _append(driver: Driver, epoch: int, values: tuple[bytes, ...], commits: Commits) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        await driver.append(Append(epoch, values))
    except (NotLeaderError, BufferAllocationError):
        return
    commits.append(((loop.time() - began) * 1000, len(values)))
