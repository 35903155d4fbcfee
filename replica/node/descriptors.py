"""The number of files that this process may have open at once (ulimit -n), and the number of
connections that this limit allows.

Each connection is an open file. The storage opens files too, for example quorum-state for each
vote, and a replica whose storage can't open a file stops. So some files are reserved.
"""

from __future__ import annotations

import resource
from dataclasses import replace

from replica.errors import UsageError
from replica.wire.limits import NodeLimits

RESERVED = 128
"""The number of files that clients' connections may not use: 24 for the log, votes and snapshots
(including the spare files); 32 for connections to other replicas; 16 for the metrics; 40 for
listening sockets, new connections and connections that are being closed; 16 for Python itself."""
LEAST_CONNECTIONS = 16
_MOST = 1 << 20


def raise_limit() -> None:
    """Raise the limit of open files as far as the operating system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):
        return  # on macOS this call fails: another limit applies, which can't be read


def open_files_limit() -> int:
    """The number of files that this process may have open at once."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else soft


def fitting(limits: NodeLimits, files: int) -> NodeLimits:
    """The limits with as many connections as `files` open files allow. Raises UsageError if `files`
    is too small for a replica."""
    left = files - RESERVED
    if left < LEAST_CONNECTIONS:
        raise UsageError(
            f"this process may open {files} files; a replica needs at least "
            f"{RESERVED + LEAST_CONNECTIONS}: raise the limit (ulimit -n, LimitNOFILE of systemd)"
        )
    return replace(limits, max_connections=min(limits.max_connections, left))
