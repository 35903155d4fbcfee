"""Says in sentences why a recovery plan isn't safe."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from replica.doctor.quorum.histories import histories_text
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.history.commitment import Commitment, Losses
from replica.history.divergence import Relation
from replica.history.log import ReplicaLog
from replica.history.ranges import Ranges
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import ReplicaKey
from replica.words import counted, listed, named

IF_STOPPED = "if no log grew after the first directory was copied"
"""The condition of a plan, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class RankedReplica:
    """A replica in the ranking."""

    log: ReplicaLog
    is_voter: bool | None
    """Whether the replica is a voter; None where the voters are unknown."""
    relation: Relation | None
    """The relation of the replica's log to the winner's log; None for the winner itself."""
    at_risk: Ranges
    """The offsets of the replica's entries that the winner lacks, ascending."""
    lost: Losses
    """The number of the entries at `at_risk`, by commitment."""
    truncates_to: int | None = None
    """The end (exclusive) of the replica's log after the replica has followed the winner; None if
    it truncates nothing."""
    snapshot_id: OffsetAndEpoch | None = None
    """The winner's snapshot that the replica has to fetch, because the winner can't send it a
    diverging epoch; None if it needs no snapshot."""
    may_lose: Ranges = ()
    """The offsets, ascending, of the replica's entries that are lost if a voter without them
    wins."""


def refusals(
    ranking: Sequence[RankedReplica],
    quorum: KnownQuorum,
    commitment: Commitment,
    unreliable: Collection[ReplicaKey],
    holds_committed: bool,
) -> list[str]:
    """A sentence for each reason to start no node.

    ranking: see RecoveryPlan.
    quorum: what the replicas prove.
    unreliable: the replicas with a missing or unreadable part of the log.
    holds_committed: whether the first log holds all committed records, if its files are whole.
    """
    found = []
    winner = ranking[0].log
    best = election_order(winner.position())
    if winner.key in unreliable:
        found.append(
            f"part of the log of {_named(winner.key)} is not here or can't be read, and there is "
            "no better one"
        )
    if quorum.conflicts:
        found.append(
            f"{histories_text(quorum.conflicts)}, which no run of Raft leaves, and a person has to "
            "choose one of them"
        )
    for standing in ranking[1:]:
        who = _named(standing.log.key)
        snapshot = standing.log.newest_snapshot
        if holds_committed and snapshot is not None and election_order(snapshot) > best:
            found.append(
                f"snapshot {snapshot.offset}-{snapshot.epoch} of {who} is newer than the log of "
                f"{_named(winner.key)}: committed records are in it that no voter here holds"
            )
        # of two histories each may have been committed in its time
        if standing.lost.committed and standing.relation is not Relation.CONFLICT:
            found.append(
                f"{standing.lost.committed} records that are proven committed are on {who} and "
                f"not on {_named(winner.key)}"
            )
    found += [
        f"offsets {each.start} to {each.end - 1} hold different records that are all proven "
        "committed"
        for each in commitment.contested
    ]
    return found


def winners_that_lose(
    led_by: Mapping[ReplicaKey, Sequence[RankedReplica]], quorum: KnownQuorum
) -> Iterator[str]:
    """A sentence for each voter that may win an election though it lacks records that are proven to
    be committed. Raft lets no such voter win, so a voter's disk went back to an older state, unless
    the logs conflict, as the logs of two quorums do.

    led_by: as in RecoveryPlan. Its first voter, whose log is the best, is left out. quorum: what
    the replicas prove.
    """
    for winner, standings in islice(led_by.items(), 1, None):
        worst = max(standings, key=lambda standing: standing.lost.committed)
        if not worst.lost.committed:
            continue
        why = older_disk(_lacking(worst, standings, quorum))
        if worst.relation is Relation.CONFLICT:
            why = "their logs conflict, and a person has to choose a history"
        yield (
            f"{_named(winner)} may win the election, and lacks "
            f"{counted(worst.lost.committed, 'committed record')} of {_named(worst.log.key)}: {why}"
        )


def _lacking(
    holder: RankedReplica, standings: Sequence[RankedReplica], quorum: KnownQuorum
) -> list[str]:
    """The node ids of the voters in force of which no log is known to hold committed entries that
    the winner lacks. holder: the replica with most of these entries. standings: the replicas
    compared with this winner."""
    holding = {one.log.key for one in standings if one.lost.committed}
    return [
        str(voter.key.node_id)
        for voter in quorum.voters
        if not any(voter.key.matches(key) for key in {holder.log.key, *holding})
    ]


def older_disk(voters: Sequence[str]) -> str:
    """A clause that says why a leader lacks committed records. voters: the ids of the nodes that
    can't have held these records when they voted for the leader; empty if they are unknown."""
    of = f"node {listed(voters, last='or')}" if voters else "a voter"
    return f"the disk of {of} is older than it was, or was emptied"


def nobody_wins(quorum: KnownQuorum) -> str:
    """The reason why no voter may win an election."""
    if not quorum.voter_sets:
        return "no file given here names the voters, so nobody knows which of them are missing"
    short = next((each for each in quorum.voter_sets if not quorum.is_majority(each)), None)
    if short is None:
        return (
            "no voter that is left can win an election and keep the records: each needs the vote "
            "of a node whose log is better than its own, or holds no record itself"
        )
    nodes = quorum.left_of(short)
    if quorum.is_blocking:
        return _half(nodes, len(short))
    left = len(nodes)
    others, relied = "the others", f"only {left} of {len(short)} voters can be relied on"
    if not left:
        others, relied = "they", f"none of {len(short)} voters can be relied on"
    if len(short) == 1:
        others, relied = "it", "the only voter can't be relied on"
    elif left:
        relied += ", which is no majority"
    if not quorum.log_end:
        verb = "holds" if others == "it" else "hold"
        return f"{relied}: whether {others} {verb} records isn't known"
    return f"{relied}: {others} may have held committed records that nobody here knows of"


def _half(nodes: Sequence[int], voters: int) -> str:
    """The reason for which half of an even number of voters loses nothing, and elects nobody.
    nodes: this half."""
    is_one = len(nodes) == 1
    return (
        f"{named('node', [*map(str, nodes)])} {'is' if is_one else 'are'} half of the {voters} "
        f"voters: each majority includes {'it' if is_one else 'one of them'}, and nobody is "
        "elected before one more voter runs"
    )


def unless_changed(quorum: KnownQuorum) -> str:
    """The condition under which half of the voters of a dynamic quorum hold all that was
    committed."""
    return f"unless a voter was added or removed after offset {quorum.log_end - 1}"


def _named(key: ReplicaKey) -> str:
    return f"node {key.node_id} ({key.directory_id})"
