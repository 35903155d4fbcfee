"""Finds the directory that holds the newest state of a cluster, and this state. Also finds
out, from the files of a directory, whether its node is a voter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from replica.doctor.check.examined import Examined, by_cluster
from replica.doctor.check.known_quorum import (
    ComparedLogs,
    EarlierRounds,
    compared_logs,
    known_quorum_of,
)
from replica.doctor.check.membership import mixture_in
from replica.doctor.check.mixture import ClusterMixture
from replica.doctor.check.partition import partition_of
from replica.doctor.check.replay_fold import FoldedImages, NewestState, Watch
from replica.doctor.check.replaying import replay_log
from replica.doctor.quorum.branch import contradicted_logs
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.format.formatted import FormattedDirectory
from replica.history.voters import is_voter
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import NO_NODE
from replica.model.voters import VoterKeys


class QuorumRole(StrEnum):
    """The role of a node in its quorum. The values are part of the output of `check --json`."""

    VOTER = "voter"
    """A controller that votes."""
    OBSERVER = "observer"
    """A broker, or a controller that doesn't vote: the log alone doesn't show which."""


def role_of(examined: Examined, voters: VoterKeys) -> QuorumRole | None:
    """The role of a directory's node among these voters. None if no file names the node, or if no
    voter is known."""
    replica = examined.replica
    if replica is None or not voters:
        return None
    return QuorumRole.VOTER if is_voter(voters, replica.key) else QuorumRole.OBSERVER


@dataclass(frozen=True)
class ClusterState:
    """The newest state of one cluster. It was replayed from the log of one of the cluster's
    directories."""

    cluster_id: str | None
    """The id of the cluster; None if no meta.properties names it."""
    examined: Examined
    """The directory whose log was replayed."""
    state: NewestState | None
    """The result of the replay; None if nothing could be replayed."""
    voters: VoterKeys
    """The voters that the newest record or file names; empty if none names voters."""
    last_timestamp: int | None
    """The time of the log's newest batch, in ms since 1970 (UTC); None without a log."""
    refused_at: int | None = None
    """The offset of the first record that can't be applied; None if all were applied."""
    quorum: KnownQuorum | None = None
    """What the cluster's directories prove about its quorum; None if the caller didn't ask for
    this."""
    members: tuple[Examined, ...] = ()
    """The cluster's directories that hold its metadata log."""
    given: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """By node id: the ids of the given directories of the node (see Cluster.given_directories)."""

    @property
    def cut_copy(self) -> str:
        """The name of the directory if it is an incomplete copy, whose log may continue; else
        ""."""
        return self.examined.shown if self.examined.breaks_off else ""


def newest_directories(
    group: Iterable[Examined], compared: Iterable[ComparedLogs]
) -> list[Examined]:
    """The directory to replay for each cluster. The first rule that decides is applied:

    1. An observer's log with an entry that a proof contradicts is the last choice, because no
    leader will have this entry. A voter's log with such an entry is no worse than others, because
    it may be of another quorum, which has its own proofs.

    2. A log that can be read completely is preferred.

    3. The log that an election would prefer.

    4. The directory of the lowest node id.

    compared: the clusters' logs.
    """
    wrong: set[int] = set()  # by id: others may be equal

    def preference(examined: Examined) -> tuple[bool, bool, tuple[int, int], int]:
        return id(examined) not in wrong, *_preference(examined)

    for logs in compared:
        keys = contradicted_logs(logs.group, logs.commitment)
        wrong.update(
            id(examined)
            for examined, log in logs.members
            if log.key in keys and role_of(examined, examined.stated_voters) is QuorumRole.OBSERVER
        )
    best: dict[str | None, Examined] = {}
    for examined in group:
        if end_of(examined) is None or not partition_of(examined).is_metadata:
            continue
        held = best.get(cluster_id_of(examined))
        if held is None or preference(held) < preference(examined):
            best[cluster_id_of(examined)] = examined
    return list(best.values())


def newest_states(
    group: Sequence[Examined],
    watch: Watch | None = None,
    earlier: EarlierRounds | None = None,
    formatted: Iterable[FormattedDirectory] = (),
) -> list[ClusterState]:
    """The newest state of each cluster of directories that were captured together. No rule is
    judged. watch: a function that is called with the progress (Watch). earlier: earlier rounds of
    the same replicas. formatted: log directories without a metadata log."""
    mixture = mixture_in(group, formatted)
    of_metadata = [one for one in group if partition_of(one).is_metadata]
    compared = [compared_logs(members, earlier) for members in by_cluster(of_metadata)]
    found = []
    for examined in newest_directories(group, compared):
        of_cluster = (one for one in compared if any(each is examined for each, _ in one.members))
        logs = next(of_cluster, None) or compared_logs([examined], earlier)
        quorum = mixture.doubted(known_quorum_of(logs), cluster_id_of(examined))
        replayed = replay_log(examined, (), watch, newest=True)
        found.append(cluster_state(examined, replayed, quorum, group, mixture))
    return found


def cluster_members(examined: Examined, group: Iterable[Examined]) -> list[Examined]:
    """The directories of a group that hold the metadata log of a directory's cluster, sorted by
    their replica; only the directory itself if no meta.properties names its cluster."""
    if examined.replica is None:
        return [examined]
    cluster_id = examined.replica.cluster_id
    members = [
        one
        for one in group
        if one.replica is not None
        and one.replica.cluster_id == cluster_id
        and partition_of(one).is_metadata
    ]
    return sorted(members, key=lambda one: one.owner)


def cluster_state(
    examined: Examined,
    replayed: FoldedImages,
    quorum: KnownQuorum,
    group: Iterable[Examined],
    mixture: ClusterMixture,
) -> ClusterState:
    """The state of the directory's cluster. replayed: the replay of the directory's log. quorum: as
    in ClusterState. group: the directories that were captured together, with their mixture."""
    first, last = replayed.first_refused, examined.last_batch
    return ClusterState(
        cluster_id_of(examined),
        examined,
        replayed.newest,
        examined.stated_voters,
        None if last is None else last.header.max_timestamp,
        None if first is None else first.refusal.offset,
        quorum,
        tuple(cluster_members(examined, group)),
        mixture.directories(cluster_id_of(examined)),
    )


def cluster_id_of(examined: Examined) -> str | None:
    """The cluster id of the directory; None if no meta.properties names it."""
    return None if examined.replica is None else examined.replica.cluster_id


def _preference(examined: Examined) -> tuple[bool, tuple[int, int], int]:
    position = end_of(examined)
    assert position is not None, "only directories with a position are compared"
    node_id = NO_NODE if examined.replica is None else examined.replica.node_id
    is_whole = not (examined.hides_entries or examined.breaks_off)
    return is_whole, election_order(position), -node_id


def end_of(examined: Examined) -> OffsetAndEpoch | None:
    """The end of the log, or the end of a newer snapshot; None if there is neither."""
    ends = [snapshot_id for snapshot_id, _ in examined.usable_snapshots]
    last = examined.last_batch
    if last is not None:
        ends.append(OffsetAndEpoch(last.header.next_offset, last.header.leader_epoch))
    return max(ends, key=election_order, default=None)
