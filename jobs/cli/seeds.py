"""The option --seeds A:B of the commands that simulate."""

from __future__ import annotations

import re

from replica.errors import UsageError

MAX_REHEARSED = 10_000
"""The most runs of a rehearsal. A run of a small quorum takes some 50 ms."""


def seeds_in(text: str, most: int | None = None) -> range:
    """The seeds from A to B - 1. Raises UsageError where there are none, or more than `most`."""
    found = re.fullmatch(r"(\d{1,18}):(\d{1,18})", text, re.ASCII)
    if found is None or int(found[1]) >= int(found[2]):
        raise UsageError(f"--seeds {text}: expected A:B with A below B, such as 0:200")
    seeds = range(int(found[1]), int(found[2]))
    if most is not None and len(seeds) > most:
        raise UsageError(f"--seeds {text}: {len(seeds)} runs: expected {most} at most")
    return seeds
