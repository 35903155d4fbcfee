"""Finds the brokers that must have been alive when an entity changed. The log itself has no
heartbeats, so only such changes show that a broker was alive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replica.model.keys import NO_NODE


def seen_by(table: str, key: Any, before: Any, after: Any) -> Iterator[int]:
    """The brokers that were alive when an entity changed: a broker that registered, was unfenced,
    or reported its directories or its shutdown; a leader that enlarged an ISR, and the brokers that
    it added. A smaller ISR proves nothing, because a controller shrinks ISRs too.

    table: the name of the image's table.
    before, after: the entity's values in this table; None if the entity didn't exist.
    """
    if after is None:
        return
    if table == "brokers" and not is_fencing(before, after):
        yield key
    if table == "partitions" and before is not None:
        added = set(after.isr) - set(before.isr)
        if added and before.leader == after.leader != NO_NODE:
            yield from added | {after.leader}


def is_fencing(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    """Whether a change fences a broker that was not fenced before."""
    return before is not None and after["fenced"] and not before["fenced"]


def is_new_process(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the registration of a broker or controller comes from a new process. Kafka makes a
    new incarnation id at each start."""
    return old.get("incarnationId") != new.get("incarnationId")
