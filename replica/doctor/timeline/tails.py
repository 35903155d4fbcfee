"""Events of logs that left the branch: where they left it, where two histories part, and what was
truncated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replica.doctor.check.examined import Examined
from replica.doctor.timeline.branch import Branch, BranchTail
from replica.doctor.timeline.event import Event
from replica.doctor.timeline.holders import Holders
from replica.history.ranges import intersection, size_of
from replica.words import counted, named

DIVERGENCE, TRUNCATION = "divergence", "truncation"
HISTORIES_PART = "histories_part"
"""A divergence after which it is unknown which history is right: the logs conflict, or both are
proven to be committed."""


def of_tail(branch: Branch, tail: BranchTail, holders: Holders) -> Iterator[Event]:
    """The event that a log left the branch, and, if a later capture of one of the tail's holders
    shows it, the event of the truncation. Two histories part at the time of their last common
    record. No file has the time of a truncation, so the event gets the time of the last truncated
    record."""
    times = [batch.header for _, batch in tail.batches()]
    if not times:
        return
    nodes = nodes_of(map(node_of, tail.holders))
    first, last = times[0], times[-1]
    records = counted(size_of(tail.lacking), "record")
    commitment = branch.commitment(tail.start, tail)
    place = tail.start, first.leader_epoch
    proven = size_of(intersection(tail.lacking, tail.proven))
    committed = f" ({proven} committed)" if proven else ""
    other = "the agreed branch"
    if tail.is_contested:
        others = _others(branch, tail, holders)
        other = f"the history of {nodes_text(others)}" if others else "the other history"
    detail = (
        f"held {records}{committed} from offset {tail.start} on that {other} lacks"
        f"{_beside(branch, tail)}"
    )
    what, at = DIVERGENCE, first.base_timestamp
    if tail.is_contested:
        what = HISTORIES_PART
        if (common := _last_common(tail)) is not None:
            at = common
            detail += f"; offset {tail.start - 1}, of this time, is the last common record"
    names = nodes_text(nodes) if nodes else "unknown node"
    yield Event(branch.cluster_id, at, what, names, detail, None, *place, nodes, commitment)
    for node in _without(branch, tail):
        detail = f"truncated {records} from offset {tail.start} on, as a later capture of it shows"
        yield Event(
            branch.cluster_id, last.max_timestamp, TRUNCATION, f"node {node}", detail, None,
            *place, (node,), commitment,
        )  # fmt: skip


def _last_common(tail: BranchTail) -> int | None:
    """The time of the last record below the tail, in ms since 1970 (UTC); None if the directory of
    the tail holds none."""
    found = tail.examined.batch_at(tail.start - 1) if tail.start else None
    return None if found is None else found[1].header.max_timestamp


def _others(branch: Branch, tail: BranchTail, holders: Holders) -> tuple[int, ...]:
    """The ids of the nodes that have the branch's entry where the tail leaves it."""
    kept = branch.log.batch_at(tail.start)
    return () if kept is None else holders.nodes(tail.start, kept.epoch, None)


def _beside(branch: Branch, tail: BranchTail) -> str:
    """The end of a sentence about a tail: the branch's entries there, and whether it is known which
    history is right."""
    who = "it" if tail.is_contested else "the branch"
    kept, own = branch.log.batch_at(tail.start), tail.log.batch_at(tail.start)
    told = ""
    if kept is not None:
        is_same_epoch = own is not None and own.epoch == kept.epoch
        what = f"other records of epoch {kept.epoch}" if is_same_epoch else f"epoch {kept.epoch}"
        told += f"; {who} has {what} there"
    return f"{told}, and it is unknown which history is right" if tail.is_contested else told


def _without(branch: Branch, tail: BranchTail) -> list[int]:
    """The nodes whose log held the tail in one round, and held the branch's entry at the tail's
    first offset in another round. The ids are in rising order."""
    kept = branch.log.batch_at(tail.start)
    holders = {one.replica for one in tail.holders if one.replica is not None}
    found = set()
    for examined in branch.members:
        is_holder = examined.replica in holders and not any(examined is one for one in tail.holders)
        entry = examined.batch_at(tail.start) if is_holder and kept is not None else None
        if entry is not None and kept is not None and entry[1].header.leader_epoch == kept.epoch:
            found.add(node_of(examined))
    return sorted(node for node in found if node is not None)


def node_of(examined: Examined) -> int | None:
    return None if examined.replica is None else examined.replica.node_id


def nodes_of(nodes: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(sorted({node for node in nodes if node is not None}))


def nodes_text(nodes: Iterable[int]) -> str:
    return named("node", [str(node) for node in nodes])
