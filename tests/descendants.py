"""The processes below a process, read from /proc."""

from __future__ import annotations

from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The process's children, their children and so on; parents come before their children."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            children.setdefault(_parent(entry), []).append(int(entry.name))
    found, wave = [], [pid]
    while wave:
        wave = [child for one in wave for child in children.get(one, ())]
        found += wave
    return found


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # the process has ended
        return 0
