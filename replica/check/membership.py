"""Who the directories of a group claim to be, whom they follow, and who they think votes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations

from replica.check.catalogue import groups
from replica.check.examined import Examined, replica_log
from replica.check.rule import Finding
from replica.format.file_names import FileKind
from replica.types import NO_NODE, ZERO_UUID


def judge_membership(group: Sequence[Examined]) -> Iterator[Finding]:
    """Rules that compare small files, and first records across cluster ids."""
    yield from _judge_duplicates(group)
    yield from _judge_clusters(group)
    for members in by_cluster(group):
        yield from _judge_leaders(members)
        yield from _judge_voters(members)


def by_cluster(group: Sequence[Examined]) -> list[list[Examined]]:
    """The directories whose replica is known, by cluster id."""
    clusters: dict[str, list[Examined]] = {}
    for examined in group:
        if examined.replica is not None:
            clusters.setdefault(examined.replica.cluster_id, []).append(examined)
    return list(clusters.values())


def _judge_duplicates(group: Sequence[Examined]) -> Iterator[Finding]:
    for members in by_cluster(group):
        yield from _repeated(members, "node id", lambda one: _replica(one)[0])
    yield from _repeated(group, "directory id", lambda one: _replica(one)[1])


def _replica(examined: Examined) -> tuple[int | None, str | None]:
    replica = examined.replica
    if replica is None:
        return None, None
    named = replica.directory_id != ZERO_UUID
    return replica.node_id, replica.directory_id if named else None


def _repeated(
    group: Sequence[Examined], what: str, of: Callable[[Examined], Hashable]
) -> Iterator[Finding]:
    first: dict[Hashable, Examined] = {}
    for examined in group:
        value = of(examined)
        if value is None:
            continue
        other = first.setdefault(value, examined)
        if other is not examined:
            message = f"{what} {value} is that of {other.shown} too"
            yield groups.DUPLICATE_IDENTITY.at(_shown(examined, FileKind.META_PROPERTIES), message)


def _judge_clusters(group: Sequence[Examined]) -> Iterator[Finding]:
    """Logs of two cluster ids that begin with the same entry, or hold one in common later."""
    clusters = by_cluster(group)
    if len(clusters) < 2:
        return
    known = [(one, replica_log(one, ZERO_UUID)) for members in clusters for one in members]
    for (a, log_a), (b, log_b) in combinations(known, 2):
        assert a.replica is not None
        assert b.replica is not None
        if a.replica.cluster_id == b.replica.cluster_id:
            continue
        offset = max(log_a.first_offset, log_b.first_offset)
        entry = log_a.batch_at(offset)
        if entry is not None and entry == log_b.batch_at(offset):
            yield groups.CLUSTER_ID_MISMATCH.at(
                _shown(b, FileKind.META_PROPERTIES),
                f"cluster.id {b.replica.cluster_id}, but {a.shown} of cluster "
                f"{a.replica.cluster_id} holds the same record at offset {offset}",
                offset=offset,
                epoch=entry.epoch,
            )


def _judge_leaders(members: Sequence[Examined]) -> Iterator[Finding]:
    leaders: dict[int, tuple[int, Examined]] = {}
    for examined in members:
        state = examined.directory.quorum_state
        if state is None or state.leader_id == NO_NODE:
            continue
        leader, other = leaders.setdefault(state.leader_epoch, (state.leader_id, examined))
        if leader != state.leader_id:
            yield groups.TWO_LEADERS.at(
                _shown(examined, FileKind.QUORUM_STATE),
                f"leader {state.leader_id} of epoch {state.leader_epoch}; {leader} by "
                f"{_shown(other, FileKind.QUORUM_STATE)}",
                epoch=state.leader_epoch,
            )


def _judge_voters(members: Sequence[Examined]) -> Iterator[Finding]:
    first: tuple[list[int], Examined] | None = None
    for examined in members:
        state = examined.directory.quorum_state
        if state is None or not state.current_voters:
            continue
        voters = sorted(state.current_voters)
        first = first or (voters, examined)
        if voters != first[0]:
            yield groups.VOTER_SETS_DIFFER.at(
                _shown(examined, FileKind.QUORUM_STATE),
                f"voters {voters}; {first[0]} by {_shown(first[1], FileKind.QUORUM_STATE)}",
                epoch=state.leader_epoch,
            )


def _shown(examined: Examined, kind: FileKind) -> str:
    found = examined.file_of(kind)
    return examined.shown_file("" if found is None else found.path)
