"""`kraftlake replica run`: runs a voter or observer as a process, until a signal stops it."""

from __future__ import annotations

import asyncio
import re
import signal

from jobs.cli.commands.engine import RunOptions
from jobs.cli.engine import large_logs
from jobs.cli.engine.notices import code_of, reporter
from replica.errors import UsageError
from replica.node.assembly import opened
from replica.node.descriptors import raise_limit
from replica.node.notice import Fields, Notice, Report
from replica.node.properties import read_properties
from replica.node.settings import NodeSettings, settings_in
from replica.node.workload import AppendLoad
from replica.raft.effects import Stopped

SHUTDOWN_MS = 5_000


def run(options: RunOptions) -> int:
    """Runs the replica. Returns 0 after an orderly stop, 1 where the stop took too long. Raises
    UsageError for unusable options or settings."""
    config = options.config
    load, report = _load(options.workload), reporter(options.log_format)
    settings = settings_in(read_properties(config))
    if load is not None and settings.topic.is_metadata:
        raise UsageError(
            f"--workload: its records mean nothing to a metadata log; set kraftlake.topic.name and "
            f"kraftlake.topic.id in {config}"
        )
    for warning in settings.security.warnings:
        report(Notice("exposed-secrets", warning))
    if settings.unknown:
        names = ", ".join(settings.unknown)
        text = f"{config}: ignored, because they have no meaning here: {names}"
        report(Notice("unknown-keys", text, {"keys": names}))
    raise_limit()
    large_logs.prepare(settings.log_dir, replays=settings.topic.is_metadata)
    stopped = asyncio.run(_run(settings, load, report))
    return code_of(stopped, report)


async def _run(settings: NodeSettings, load: AppendLoad | None, report: Report) -> Stopped:
    node, lock = opened(settings, report)
    with lock:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, node.driver.shut_down, SHUTDOWN_MS)
        replica = node.replica
        facts: Fields = {
            "node_id": replica.node_id,
            "directory_id": replica.directory_id,
            "cluster_id": replica.cluster_id,
            "directory": settings.log_dir,
        }
        text = f"node {replica.node_id} of cluster {replica.cluster_id}, {settings.log_dir}"
        report(Notice("started", text, facts))
        replays = settings.topic.is_metadata
        async with large_logs.prepared_once_large(settings.log_dir, replays=replays):
            return await node.run(load)


def _load(text: str) -> AppendLoad | None:
    if not text:
        return None
    found = re.fullmatch(r"([1-9]\d{0,6}),([1-9]\d{0,6})", text, re.ASCII)
    if found is None:
        raise UsageError(f"--workload {text}: expected RATE,BYTES, such as 20000,256")
    return AppendLoad(int(found[1]), int(found[2]))
