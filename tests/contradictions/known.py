"""Contradictions that are known and not mended yet: of each rule that is broken a cluster that
shows it, and what is wrong. Who mends one takes it out here: its test then succeeds, and so it
fails (strict)."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """cluster: a scenario's name, or seed-N, seed-N-left or seed-N-old. in_lake: whether only a
    lake shows it."""

    cluster: str
    reason: str
    in_lake: bool = False


KNOWN: dict[str, Known] = {}
