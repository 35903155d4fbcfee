"""The addresses on which a process listens, read from /proc."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.descendants import descendants

LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}
"""127.0.0.1, for sockets of IPv4 and of IPv6."""
_LISTENS = "0A"


def listeners(pid: int) -> list[tuple[str, int]]:
    """The addresses, in hex, and ports on which the process and those below it listen."""
    return [one for each in (pid, *descendants(pid)) for one in _of_process(each)]


def _of_process(pid: int) -> list[tuple[str, int]]:
    """The addresses of one process; none for a process that has ended, as idle workers do."""
    with suppress(FileNotFoundError):
        return list(_listening(pid))
    return []


def _listening(pid: int) -> Iterator[tuple[str, int]]:
    own = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link)) if link.is_symlink() else None
        own |= {match[1]} if match else set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and fields[9] in own:
                address, port = fields[1].split(":")
                yield address, int(port, 16)
