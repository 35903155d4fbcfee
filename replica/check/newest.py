"""Which directory of a cluster tells its newest state, and what that state is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from replica.check.directory import Facts
from replica.check.examined import Examined
from replica.check.replaying import NewestState
from replica.check.role import stated_voters
from replica.history.log import election_order
from replica.history.voters import VoterSet
from replica.types import OffsetAndEpoch


@dataclass(frozen=True)
class ClusterState:
    """The newest state that the directories of one cluster tell.

    cluster_id: None where no meta.properties names it. examined: the directory whose log was
    replayed. state: None where nothing could be replayed. voters: by the newest record or file that
    names them, empty where none does. last_timestamp: of the log's newest batch, ms since the
    epoch, None without a log.
    """

    cluster_id: str | None
    examined: Examined
    state: NewestState | None
    voters: VoterSet
    last_timestamp: int | None


def tells_newest(gathered: Iterable[Facts]) -> list[Facts]:
    """Of each cluster the directory to replay: the one that an election would prefer, those whose
    log can be read throughout before the others."""
    best: dict[str | None, Facts] = {}
    for facts in gathered:
        if not facts.partition.is_metadata or _position(facts.examined) is None:
            continue
        cluster_id = _cluster_id(facts.examined)
        held = best.get(cluster_id)
        if held is None or _preference(held.examined) < _preference(facts.examined):
            best[cluster_id] = facts
    return list(best.values())


def cluster_state(facts: Facts, state: NewestState | None) -> ClusterState:
    """What the directory tells of its cluster; state: by the replay of its log."""
    examined = facts.examined
    last = _last_timestamp(examined)
    voters = stated_voters(examined, facts.changes)
    return ClusterState(_cluster_id(examined), examined, state, voters, last)


def is_among(facts: Facts, chosen: Collection[Facts]) -> bool:
    """Whether these very facts were chosen; equal ones of another directory are not the same."""
    return any(facts is one for one in chosen)


def _cluster_id(examined: Examined) -> str | None:
    return None if examined.replica is None else examined.replica.cluster_id


def _preference(examined: Examined) -> tuple[bool, tuple[int, int]]:
    position = _position(examined)
    assert position is not None, "only directories with a position are compared"
    return not examined.hides_entries, election_order(position)


def _position(examined: Examined) -> OffsetAndEpoch | None:
    """The end of the log, or of a newer snapshot; None where there is neither."""
    directory = examined.directory
    ends = [snapshot.id for snapshot in directory.snapshots if snapshot.id and snapshot.is_usable]
    for segment in reversed(directory.segments):
        if segment.scan.batches:
            header = segment.scan.batches[-1].header
            ends.append(OffsetAndEpoch(header.next_offset, header.leader_epoch))
            break
    return max(ends, key=election_order, default=None)


def _last_timestamp(examined: Examined) -> int | None:
    for segment in reversed(examined.directory.segments):
        if segment.scan.batches:
            return segment.scan.batches[-1].header.max_timestamp
    return None
