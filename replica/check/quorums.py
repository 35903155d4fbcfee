"""Which voters of each quorum are among the directories of a group. Where logs diverge is seen only
between the logs of two replicas, so one directory that is sound proves little alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.check.directory import DirectoryFacts
from replica.check.newest import cluster_id_of, is_among, newest_directories, stated_voters
from replica.history.voters import is_voter
from replica.model.voters import VoterKeys


@dataclass(frozen=True, slots=True)
class LookedAtQuorum:
    """The quorum of one cluster in a group of directories. voters: as stated_voters, of the
    directory whose log an election would prefer. missing: the voters whose directory is not in the
    group. nodes: the node ids of the cluster's directories in the group."""

    cluster_id: str
    voters: VoterKeys
    missing: VoterKeys
    nodes: frozenset[int]


def looked_at_quorums(group: Sequence[DirectoryFacts]) -> tuple[LookedAtQuorum, ...]:
    """The quorum of each cluster, in the order of the directories. A cluster whose id or voters no
    file tells is left out."""
    telling = newest_directories([facts.examined for facts in group])
    chosen = [facts for facts in group if is_among(facts.examined, telling)]
    quorums = (_quorum(facts, group) for facts in chosen)
    return tuple(quorum for quorum in quorums if quorum is not None)


def _quorum(newest: DirectoryFacts, group: Sequence[DirectoryFacts]) -> LookedAtQuorum | None:
    cluster_id = cluster_id_of(newest.examined)
    voters = stated_voters(newest.examined, newest.changes)
    if cluster_id is None or not voters:
        return None
    replicas = (facts.examined.replica for facts in group if facts.partition.is_metadata)
    keys = {one.key for one in replicas if one is not None and one.cluster_id == cluster_id}
    missing = {voter for voter in voters if not any(is_voter(frozenset({voter}), k) for k in keys)}
    return LookedAtQuorum(
        cluster_id, voters, frozenset(missing), frozenset(key.node_id for key in keys)
    )
