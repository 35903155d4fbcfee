"""How many files this process may open at once (ulimit -n), and how many connections that leaves.

Each connection is an open file. Storage opens files all the time, quorum-state for each vote, and a
replica that can't is lost: so connections never get the last ones.
"""

from __future__ import annotations

import resource
from dataclasses import replace

from replica.errors import UsageError
from replica.wire.limits import NodeLimits

RESERVED = 128
"""Files that connections leave: of the log, votes and snapshots, with the spare ones (24), of the
ways to other replicas and the leader (32), of the metrics (16), listening sockets and connections
that have just been accepted or are being closed (40), of Python itself (16)."""
LEAST_CONNECTIONS = 16
_MOST = 1 << 20


def raise_limit() -> None:
    """As far as this process may by itself; without effect where it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):
        return  # macOS has another limit, which it doesn't tell here


def open_files_limit() -> int:
    """Of this process, now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else soft


def fitting(limits: NodeLimits, files: int) -> NodeLimits:
    """With as many connections as `files` open files allow. Raises UsageError for too few files."""
    left = files - RESERVED
    if left < LEAST_CONNECTIONS:
        raise UsageError(
            f"this process may open {files} files; a replica needs at least "
            f"{RESERVED + LEAST_CONNECTIONS}: raise the limit (ulimit -n, LimitNOFILE of systemd)"
        )
    return replace(limits, max_connections=min(limits.max_connections, left))
