"""`kraftlake replica describe`: the position of each replica of a quorum, and what it means."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from jobs.cli.commands.engine import DescribeOptions
from jobs.cli.engine.connecting import addresses, client_config
from jobs.cli.output import coloured, complain, time_text, write_json, write_line, write_table
from replica.admin.describing import describe_quorum
from replica.admin.quorum import QuorumNotice, verdicts
from replica.errors import NoLeaderError
from replica.model.keys import ZERO_UUID
from replica.severity import Severity
from replica.wire.client import ClientConfig
from replica.wire.describe_quorum import DescribedQuorum, DescribedReplica
from replica.wire.pool import Address

_PAUSE_S = 0.2
_COLUMNS = (
    "node", "directory", "role", "log_end", "lag",
    "last_fetch_ms_ago", "caught_up_ms_ago", "listeners",
)  # fmt: skip
_COLOURS = {Severity.INFO: "green", Severity.WARNING: "yellow", Severity.ERROR: "red"}


def run(options: DescribeOptions) -> int:
    """Prints the description. Returns 0 where every replica keeps up, 1 where a replica doesn't.
    Raises NoLeaderError, except with --watch."""
    bootstrap = addresses(options.bootstrap)
    config = client_config(options.command_config, ClientConfig(timeout_s=options.timeout_s))
    if options.watch_s is None:
        return _show(asyncio.run(_look(bootstrap, config, options)), options)
    while True:
        try:
            _show(asyncio.run(_look(bootstrap, config, options)), options)
        except NoLeaderError as error:
            complain(f"{time_text(datetime.now(UTC))} {error}")
        sys.stdout.flush()
        time.sleep(options.watch_s)


async def _look(
    bootstrap: Sequence[Address], config: ClientConfig, options: DescribeOptions
) -> DescribedQuorum:
    """One description of the quorum. It waits for the end of a running election while there is
    time. Raises NoLeaderError where no leader is elected in that time."""
    deadline = time.monotonic() + options.timeout_s
    while True:
        try:
            return await describe_quorum(bootstrap, config, options.topic)
        except NoLeaderError as error:
            if time.monotonic() > deadline:
                raise NoLeaderError(f"no leader within {options.timeout_s:g} s: {error}") from error
            await asyncio.sleep(_PAUSE_S)


def _show(quorum: DescribedQuorum, options: DescribeOptions) -> int:
    found = verdicts(quorum, options.caught_up_within_ms)
    if options.json_output:
        write_json(_row(quorum, found))
    else:
        _text(quorum, found, options)
    return int(any(verdict.severity is not Severity.INFO for verdict in found))


def _text(quorum: DescribedQuorum, found: Sequence[QuorumNotice], options: DescribeOptions) -> None:
    if options.watch_s is not None:
        write_line(time_text(datetime.now(UTC)))
    write_line(
        f"cluster {quorum.cluster_id or 'unknown'}, leader {quorum.leader_id}, "
        f"epoch {quorum.epoch}, high watermark {quorum.high_watermark}"
    )
    levels = ", ".join(f"{name} {level}" for name, level in sorted(quorum.features.items()))
    write_line(f"finalized: {levels or 'no features'}")
    rows = [_replica(quorum, each) for each in quorum.replicas]
    write_table(
        _COLUMNS,
        [
            (
                row["node_id"], row["directory_id"], row["role"], row["log_end_offset"],
                row["lag"], row["last_fetch_ms_ago"], row["last_caught_up_ms_ago"],
                " ".join(row["listeners"]),
            )
            for row in rows
        ],
    )  # fmt: skip
    for verdict in found:
        severity = coloured(f"{verdict.severity.value:<7}", _COLOURS[verdict.severity])
        write_line(f"{severity}  {verdict.text}")


def _row(quorum: DescribedQuorum, found: Sequence[QuorumNotice]) -> dict[str, Any]:
    return {
        "cluster_id": quorum.cluster_id,
        "leader_id": quorum.leader_id,
        "epoch": quorum.epoch,
        "high_watermark": quorum.high_watermark,
        "features": dict(sorted(quorum.features.items())),
        "replicas": [_replica(quorum, each) for each in quorum.replicas],
        "verdicts": [{"severity": v.severity.value, "text": v.text} for v in found],
    }


def _replica(quorum: DescribedQuorum, replica: DescribedReplica) -> dict[str, Any]:
    """The row of one replica. None stands for a value that the leader doesn't know."""
    directory_id = replica.key.directory_id
    return {
        "node_id": replica.key.node_id,
        "directory_id": None if directory_id == ZERO_UUID else directory_id,
        "role": _role(quorum, replica),
        "is_voter": replica in quorum.voters,
        "log_end_offset": None if replica.log_end < 0 else replica.log_end,
        "lag": quorum.lag(replica),
        "last_fetch": _known(replica.last_fetch),
        "last_fetch_ms_ago": quorum.ago(replica.last_fetch),
        "last_caught_up": _known(replica.last_caught_up),
        "last_caught_up_ms_ago": quorum.ago(replica.last_caught_up),
        "listeners": [f"{each.name}://{each.host}:{each.port}" for each in replica.listeners],
    }


def _role(quorum: DescribedQuorum, replica: DescribedReplica) -> str:
    """The role in the words of kafka-metadata-quorum, in lower case."""
    if replica.key.node_id == quorum.leader_id:
        return "leader"
    return "follower" if replica in quorum.voters else "observer"


def _known(time_ms: int | None) -> int | None:
    return None if time_ms is None or time_ms < 0 else time_ms
