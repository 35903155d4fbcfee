"""gold.voter_beliefs: a matrix of which replica takes which nodes for voters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from pipelines.in_memory.aggregates import both, equal, every, grouped, some
from pipelines.in_memory.group_finding import newest_group
from pipelines.in_memory.quorum.stated_voters import SOURCES
from pipelines.in_memory.rows import Row, nulls_first
from pipelines.in_memory.voters import known_directory
from pipelines.tables.keys import REPLICA_KEYS

_LOOK = (*REPLICA_KEYS, "capture_group", "capture_id", "captured_at", "round_name")


def voter_beliefs(
    captures: Sequence[Row], stated: Mapping[str, Row], groups: Sequence[Row]
) -> Iterator[Row]:
    """The table's rows. captures: bronze's rows. stated: from stated_voters. groups: rows of
    group_findings."""
    newest = newest_group(groups)
    members = grouped(captures, itemgetter("capture_group"))
    for group in groups:
        name = group["capture_group"]
        of_group = members.get(name, ())
        reference = _reference(group, of_group, stated)
        for capture in of_group:
            named = stated[capture["capture_id"]]
            yield from _of_capture(capture, named, reference, name == newest)


def _reference(
    group: Row, members: Sequence[Row], stated: Mapping[str, Row]
) -> Sequence[Row] | None:
    """The voters that the replica names which would win an election among those that name any.

    Of replicas at the same position the last one of `members` counts, as in Spark's max_by.
    """
    positions = {one["capture_id"]: one["position"] for one in group["progress"] or ()}
    reference: Sequence[Row] | None = None
    highest: tuple[Any, ...] | None = None
    for capture in members:
        position = positions.get(capture["capture_id"])
        in_force = stated[capture["capture_id"]]["in_force"]
        if position is None or in_force is None:
            continue
        place = nulls_first(position)
        if highest is None or place >= highest:
            highest, reference = place, in_force["voters"]
    return reference


def _of_capture(
    capture: Row, stated: Row, reference: Sequence[Row] | None, is_latest: bool
) -> Iterator[Row]:
    for source in SOURCES:
        named = stated[source]
        if named is not None:
            # A snapshot of older voters, which the replica's own log has overtaken, doesn't count.
            is_overtaken = source in ("log", "snapshot") and named != stated["in_force"]
            if source == "meta_properties":
                agrees = _itself_agrees(named["voters"], reference, capture["node_id"])
            else:
                agrees = _agrees(named["voters"], reference, is_overtaken=is_overtaken)
            about = {name: capture[name] for name in _LOOK}
            yield {**about, "is_latest": is_latest, "source": source, **named, "agrees": agrees}


def _agrees(
    voters: Sequence[Row] | None, reference: Sequence[Row] | None, *, is_overtaken: bool
) -> bool | None:
    sizes = (None if one is None else len(one) for one in (voters, reference))
    is_same = both(equal(*sizes), _all_match(voters, reference))
    return is_same if is_same or not is_overtaken else None


def _itself_agrees(
    voters: Sequence[Row], reference: Sequence[Row] | None, node: int
) -> bool | None:
    """None for a replica that is no voter."""
    is_voter = None if reference is None else some(equal(r["voter_id"], node) for r in reference)
    return _all_match(voters, reference) if is_voter else None


def _all_match(voters: Sequence[Row] | None, reference: Sequence[Row] | None) -> bool | None:
    if voters is None:
        return None
    return every(_has(reference, one) for one in voters)


def _has(reference: Sequence[Row] | None, one: Row) -> bool | None:
    return None if reference is None else some(_is(one, other) for other in reference)


def _is(one: Row, other: Row) -> bool | None:
    """Whether two voters may be the same. A directory that isn't named may be any."""
    directories = (known_directory(voter["directory_id"]) for voter in (one, other))
    return both(equal(one["voter_id"], other["voter_id"]), equal(*directories) is not False)
