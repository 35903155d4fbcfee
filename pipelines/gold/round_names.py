"""The names of rounds of captures, as `ingest --order` gave them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pipelines.cluster.aggregates import grouped
from pipelines.cluster.rows import Row


def round_names(captures: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, str]:
    """The name of the round for each key of a capture. Where the captures with a key name several
    rounds, the first of their names in alphabetical order counts. Keys whose captures name no round
    are left out."""
    named = grouped((row for row in captures if row["round_name"] is not None), key)
    return {one: min(row["round_name"] for row in rows) for one, rows in named.items()}
