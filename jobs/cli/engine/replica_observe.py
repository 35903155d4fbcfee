"""`kraftlake replica observe`: records the metadata log of a running quorum."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from jobs.cli.commands.engine import ObserveOptions
from jobs.cli.directories.broker_defaults import defaults_in
from jobs.cli.engine import large_logs
from jobs.cli.engine.connecting import addresses, client_config
from jobs.cli.engine.notices import code_of, reporter
from jobs.cli.output import write_json
from replica.doctor.watching.watch import Watch
from replica.errors import KraftlakeError, UsageError
from replica.node.descriptors import raise_limit
from replica.node.listeners import address_in
from replica.node.notice import Report
from replica.node.observer.recorder import CLIENT, Observation, ObserverRecorder, opened_recorder
from replica.raft.effects import Stopped
from replica.wire.pool import Address


class NotCaughtUpError(KraftlakeError):
    """The log did not reach the high watermark in time."""


def run(options: ObserveOptions) -> int:
    """Records the log. Returns 0 after an orderly stop, or after catching up where the user asked
    for that; 1 where the stop took too long."""
    report = reporter(options.log_format)
    raise_limit()
    large_logs.prepare(options.folder)
    defaults = defaults_in(options.broker_config)
    stopped = asyncio.run(_run(options, _observation(options), defaults, report))
    return code_of(stopped, report)


async def _run(
    options: ObserveOptions, wanted: Observation, broker_defaults: Mapping[str, str], report: Report
) -> Stopped:
    limit_s = options.timeout_s if options.until_caught_up else None
    try:
        async with asyncio.timeout(limit_s):
            recorder = await opened_recorder(wanted, report)
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, recorder.stop)
            async with (
                _watched(recorder, wanted, broker_defaults),
                large_logs.prepared_once_large(wanted.folder),
            ):
                stopped = await recorder.run(until_caught_up=options.until_caught_up)
    except TimeoutError as error:
        raise NotCaughtUpError(
            f"{wanted.folder}: the recording has not caught up within {options.timeout_s:g} s; the "
            "next run continues it"
        ) from error
    if options.json_output:
        write_json(_row(wanted, recorder))
    return stopped


@asynccontextmanager
async def _watched(
    recorder: ObserverRecorder, wanted: Observation, broker_defaults: Mapping[str, str]
) -> AsyncIterator[None]:
    """Watches the quorum beside the recording, where metrics are served."""
    if wanted.metrics is None:
        yield
        return
    node = recorder.node
    watch = Watch(node, node.settings.bootstrap_servers, wanted.client, broker_defaults)
    node.collectors.append(watch.metrics)
    watching = asyncio.create_task(watch.run())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait((watching,))


def _observation(options: ObserveOptions) -> Observation:
    return Observation(
        tuple(addresses(options.bootstrap)),
        options.folder.rstrip("/") or "/",
        options.node_id,
        options.is_anonymous,
        options.cluster_id or None,
        _address("--listen", options.listen, "readers need"),
        _address("--metrics", options.metrics, "Prometheus needs"),
        client_config(options.command_config, CLIENT),
    )


def _address(option: str, text: str, who_needs: str) -> Address | None:
    if not text:
        return None
    found = address_in(text)
    if found is None:
        raise UsageError(f"{option} {text}: expected HOST:PORT, such as localhost:9093")
    if not all(found):
        raise UsageError(f"{option} {text}: {who_needs} a host and a port to connect to")
    return found


def _row(wanted: Observation, recorder: ObserverRecorder) -> dict[str, object]:
    replica, raft = recorder.node.replica, recorder.node.driver.host.raft
    return {
        "directory": wanted.folder,
        "cluster_id": replica.cluster_id,
        "node_id": replica.node_id,
        "log_start_offset": raft.log.log_start,
        "log_end_offset": raft.log.log_end,
        "high_watermark": raft.high_watermark,
    }
