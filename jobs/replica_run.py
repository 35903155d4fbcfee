"""`kraftlake replica run`: a voter or observer as a process, until it is told to stop."""

from __future__ import annotations

import asyncio
import re
import signal
from dataclasses import dataclass
from datetime import UTC, datetime

from jobs.output import complain, one_line
from replica.errors import UsageError
from replica.node.node import opened
from replica.node.properties import read_properties
from replica.node.settings import Settings, settings_in
from replica.node.workload import Load
from replica.raft.effects import Stopped

SHUTDOWN_MS = 5_000


@dataclass(frozen=True, slots=True)
class Options:
    """config: server.properties. workload: RATE,BYTES, empty for none."""

    config: str
    workload: str = ""


def run(options: Options) -> int:
    """0 once the replica has left in order, 1 where that took too long."""
    load = _load(options.workload)
    settings = settings_in(read_properties(options.config))
    for warning in settings.security.warnings:
        _report(warning)
    if settings.unknown:
        _report(f"{options.config}: without meaning here, ignored: {', '.join(settings.unknown)}")
    stopped = asyncio.run(_run(settings, load))
    _report(f"stopped {stopped.value}")
    return 0 if stopped is Stopped.GRACEFULLY else 1


async def _run(settings: Settings, load: Load | None) -> Stopped:
    node, lock = opened(settings, _report)
    with lock:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, node.driver.shut_down, SHUTDOWN_MS)
        replica = node.replica
        _report(f"node {replica.node_id} of cluster {replica.cluster_id}, {settings.log_dir}")
        return await node.run(load)


def _load(text: str) -> Load | None:
    if not text:
        return None
    found = re.fullmatch(r"([1-9]\d{0,6}),([1-9]\d{0,6})", text, re.ASCII)
    if found is None:
        raise UsageError(f"--workload {text}: expected RATE,BYTES, such as 20000,256")
    return Load(int(found[1]), int(found[2]))


def _report(text: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    complain(f"{now} {one_line(text)}")
