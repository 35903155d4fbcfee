"""Conditions on one value that SQL can't express alike for Spark and DataFusion, as functions of
the value: True where the value satisfies the condition."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

_Struct = Mapping[str, Any]
"""A value of Spark's struct type, by field name."""
_NUMBER_LENGTH = 1000
"""maxNumberLength of StreamReadConstraints in Jackson, which reads JSON for Spark."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def epochs_ascend(entries: Sequence[_Struct | None] | None) -> bool:
    """Whether each entry of leader-epoch-checkpoint has a larger epoch than the entry before it,
    and no smaller start_offset. True for fewer than two entries, and without a file."""
    found = [entry or {} for entry in entries or ()]
    return all(_follows(after, before) for before, after in pairwise(found))


def _follows(after: _Struct, before: _Struct) -> bool:
    values: list[Any] = [
        one.get(name) for name in ("epoch", "start_offset") for one in (after, before)
    ]
    if None in values:
        return False
    epoch, epoch_before, offset, offset_before = values
    return bool(epoch > epoch_before and offset >= offset_before)


def voters_once(voters: Sequence[_Struct | None] | None) -> bool:
    """Whether there are voters, and no two have the same voter_id and directory_id."""
    if not voters:
        return False
    found = [voter or {} for voter in voters]
    return len({(one.get("voter_id"), one.get("directory_id")) for one in found}) == len(found)


@lru_cache(maxsize=100_000)  # many values occur many times
def is_json_or_null(text: str | None) -> bool:
    """Whether the text is NULL, or JSON of which Spark makes a VARIANT: no object has a key twice,
    no number is NaN, infinite or longer than 1,000 characters, and no surrogate stands alone.

    Where other text follows the JSON, as in "1 2", the answer is False, though Spark ignores that
    text.
    """
    if text is None:
        return True
    try:
        # most texts are shorter than any number that is too long
        (_SHORT_JSON if len(text) <= _NUMBER_LENGTH else _JSON).decode(text)
    except (ValueError, RecursionError):
        return False
    return _SURROGATE.search(text) is None or _has_pairs_only(text)


def _has_pairs_only(text: str) -> bool:
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _number(text: str) -> float:
    if len(text) > _NUMBER_LENGTH:
        raise ValueError("a number is too long")
    return float(text)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


_JSON = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_number, parse_float=_number, parse_constant=_refuse
)
_SHORT_JSON = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)
"""Judges a JSON text up to _NUMBER_LENGTH without a call of Python for each number."""
