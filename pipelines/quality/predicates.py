"""Conditions on one value that delta-rs's SQL can't say, as functions of the value.

Each says the same as the Spark SQL beside which a suite names it: True where the value satisfies
the condition, False where the condition is false or NULL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

_Struct = Mapping[str, Any]
"""A value of Spark's struct type, by field name."""


def epochs_ascend(entries: Sequence[_Struct | None] | None) -> bool:
    """Whether each entry of leader-epoch-checkpoint has a larger epoch than the one before it, and
    no smaller start_offset. Fewer than two entries, and no file, satisfy it."""
    found = [entry or {} for entry in entries or ()]
    return all(_follows(after, before) for before, after in pairwise(found))


def _follows(after: _Struct, before: _Struct) -> bool:
    epoch, start = after.get("epoch"), after.get("start_offset")
    former_epoch, former_start = before.get("epoch"), before.get("start_offset")
    if epoch is None or start is None or former_epoch is None or former_start is None:
        return False
    return bool(epoch > former_epoch and start >= former_start)


def voters_once(voters: Sequence[_Struct | None] | None) -> bool:
    """Whether there are voters, and none has the voter_id and the directory_id of another one."""
    if not voters:
        return False
    found = [voter or {} for voter in voters]
    return len({(one.get("voter_id"), one.get("directory_id")) for one in found}) == len(found)


def is_json_or_null(text: str | None) -> bool:
    """Whether the text is JSON that fits into a VARIANT: no key is twice in an object, and no
    number is NaN or infinite. NULL satisfies it."""
    if text is None:
        return True
    try:
        json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
