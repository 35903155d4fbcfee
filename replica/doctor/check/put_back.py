"""Finds which of two histories was there first. If the log of one history names leaders or voters
whose own logs hold the other history, their disks were put back to older copies later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations

from replica.doctor.check.examined import Examined, leaders_of
from replica.doctor.quorum.attested import by_election
from replica.doctor.quorum.histories import LogConflict, mixes_text, whole_conflicts
from replica.model.keys import ReplicaKey
from replica.words import ms_text, named


def put_back_text(members: Sequence[Examined], conflicts: Iterable[LogConflict]) -> str:
    """A sentence that says which nodes' disks were put back, and which nodes' history was there
    first; "" where nothing shows it. Two histories without a common record don't come from older
    copies: a disk was formatted anew, or belongs to another cluster. Sentences about logs that mix
    both histories follow."""
    conflicts = [*conflicts]
    return " ".join(filter(None, (_first_text(members, conflicts), mixes_text(conflicts))))


def _first_text(members: Sequence[Examined], conflicts: Iterable[LogConflict]) -> str:
    logs = {one.replica.key: one for one in members if one.replica is not None}
    told: dict[tuple[ReplicaKey, ReplicaKey], set[int]] = {}
    for conflict in whole_conflicts(conflicts):
        for teller, node in permutations((conflict.a, conflict.b)):
            is_mixed = conflict.same_from is not None
            if conflict.offset > 0 and not is_mixed and {teller, node} <= logs.keys():
                told[teller, node] = _epochs(logs[teller], logs[node], conflict.offset)
    shown = {pair: epochs for pair, epochs in told.items() if epochs}
    tellers = {teller for teller, _ in shown}
    nodes = {node for _, node in shown}
    if not shown or not tellers.isdisjoint(nodes):
        return ""
    return _sentence(tellers, nodes, shown)


def other_end_text(
    members: Iterable[Examined], conflicts: Iterable[LogConflict], told: Examined
) -> str:
    """A sentence that names the end of the longest log among the logs that conflict with the log of
    `told`; "" if no log conflicts with it."""
    pairs = [{one.a, one.b} for one in conflicts]
    own = told.replica.key if told.replica is not None else None
    others = set[ReplicaKey]().union(*(pair for pair in pairs if own in pair)) - {own}
    logs = [one for one in members if one.replica is not None and one.replica.key in others]
    if not logs:
        return ""
    longest = max(logs, key=lambda one: one.directory.log_end_offset)
    end, last = longest.directory.log_end_offset, longest.last_batch
    at = "" if last is None else ms_text(last.header.max_timestamp)
    when = f"{at}, " if at else ""
    return f"The other history ends at {when}offset {end - 1} of node {longest.owner.node_id}"


def _epochs(teller: Examined, node: Examined, offset: int) -> set[int]:
    """The epochs in which `node` led or voted by the records of `teller` from the offset on, though
    the log of `node` has other records there. Empty unless the log of `node` has the record of an
    election at the offset: otherwise the logs differ for another reason, such as a changed file."""
    own = {(change.offset, change.epoch) for change in node.leader_changes}
    if all(at != offset for at, _ in own):
        return set()
    return {
        epoch
        for change in teller.leader_changes
        if change.offset >= offset
        and (change.offset, change.epoch) not in own
        and node.batch_at(change.offset) is not None
        for key, epoch in by_election(
            change.epoch,
            change.message.leader_id,
            leaders_of(change.message.voters),
            leaders_of(change.message.granting_voters),
        )
        if key.matches(node.owner.key)
    }


def _sentence(
    tellers: Iterable[ReplicaKey],
    nodes: Collection[ReplicaKey],
    shown: Mapping[tuple[ReplicaKey, ReplicaKey], set[int]],
) -> str:
    epochs = sorted(set[int]().union(*shown.values()))
    which = named("epoch", [*map(str, epochs)])
    has, their = "their logs lack", "their disks were"
    if len(nodes) == 1:
        has, their = "its log lacks", "its disk was"
    return (
        f"By the log of {_named(tellers)} {_named(nodes)} led or voted in {which} of that "
        f"history, which {has}: {their} put back to older copies, and the history of "
        f"{_named(tellers)} is the one that was there before. Trust only {_named(tellers)} for it."
    )


def _named(keys: Iterable[ReplicaKey]) -> str:
    return named("node", [str(key.node_id) for key in sorted(keys)])
