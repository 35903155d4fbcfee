"""Judges whether a majority of the voters is left, by the log and the directories.

A voter whose node is down, as the log shows, is not counted. The answer is unknown if the majority
depends on a voter whose disk can't be relied on, that seems to have stopped, or whose log ends long
before the newest log. No log shows that the other voters run: this is a condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from replica.doctor.health.cluster import Cluster, listed
from replica.doctor.preflight.answer import Reason, note, unknown, unsafe
from replica.doctor.quorum.conditions import NewestLogs, NoLeader, uncounted_text
from replica.doctor.quorum.known_voter import NOT_AT_HAND
from replica.model.voters import majority
from replica.words import duration_text, named, number

NO_LOG = "no log shows that"
"""The reason why a condition isn't proven, as text."""
_IF_NONE = "if kafka-metadata-quorum.sh describe --status names no leader"


def majority_reason(
    cluster: Cluster, subject: str, voters: frozenset[int], gone: frozenset[int] = frozenset()
) -> Reason:
    """The reason about the majority of these voters when the nodes `gone` are stopped."""
    needed = majority(len(voters))
    rest = voters - gone
    down = rest & cluster.fenced_brokers
    unreliable = (rest & cluster.unreliable_voters) - down
    stopped = (rest & cluster.stopped_together) - unreliable - down
    behind = (rest & cluster.late_nodes) - unreliable - down
    left = rest - down - unreliable - stopped - behind
    why = []
    if down:
        are = "is down: its broker is" if len(down) == 1 else "are down: their brokers are"
        why.append(f"{_voters(down)} {are} fenced, or shutting down")
    if unreliable:
        why.append(uncounted_text(unreliable))
    if stopped:
        why.append(f"{_voters(stopped)} {seem_stopped(stopped)}")
    if behind:
        why.append(f"{_voters(behind)} can't be counted: {why_behind(cluster, behind)}")
    counts = f"{number(len(left))} of {len(voters)} voters are left, {needed} are needed"
    if len(voters) == 1:
        counts = "the only voter is left" if left else "no voter is left, and one is needed"
        if gone:
            counts = f"has no leader without {_voters(voters)}, which is the only voter"
    told = "; ".join((counts, *why))
    if len(left) >= needed:
        return note(subject, told)
    if len(rest - down) < needed:
        return unsafe(subject, told)
    return unknown(subject, f"{told}; {_ask_again(behind)}" if behind else told)


def why_behind(cluster: Cluster, nodes: Collection[int]) -> str:
    """Why nodes that are behind can't be relied on: the possible causes."""
    least = duration_text(min(cluster.lags[one].ms for one in nodes))
    if len(nodes) == 1:
        return (
            f"its log ends {least} before the newest one, as of a node that is stopped or cut "
            "off, or of an older disk or copy"
        )
    return (
        f"their logs end {least} or more before the newest one, as of nodes that are stopped "
        "or cut off, or of older disks or copies"
    )


def _ask_again(behind: Collection[int]) -> str:
    who = "it has" if len(behind) == 1 else "they have"
    return f"ask again with new copies once {who} caught up"


def seem_stopped(nodes: Collection[int]) -> str:
    """A text about nodes whose logs ended together (see Cluster.stopped_together)."""
    return f"{'seems' if len(nodes) == 1 else 'seem'} to be stopped"


def _voters(voters: frozenset[int]) -> str:
    return named("voter", [str(one) for one in sorted(voters)])


def caught_up_needs(cluster: Cluster, nodes: Iterable[int]) -> tuple[str, ...]:
    """The condition of an answer that relies on these nodes, if the logs of some end long before
    the newest log; else empty."""
    late = {one: cluster.lags[one] for one in sorted(cluster.late_nodes.intersection(nodes))}
    if not late:
        return ()
    names = [
        f"{one} (offset {lag.end - 1}, {duration_text(lag.ms)} earlier)"
        for one, lag in late.items()
    ]
    has, its = ("has", "its log ends") if len(late) == 1 else ("have", "their logs end")
    return (
        f"{named('node', names, limit=5)} {has} to be caught up: {its} before the newest one here, "
        "as of a node that lags or has stopped, or of an older copy",
    )


def majority_needs(
    cluster: Cluster,
    voters: frozenset[int],
    gone: frozenset[int] = frozenset(),
    why: str = NO_LOG,
) -> tuple[str, ...]:
    """The condition that a majority of these voters runs, without the nodes `gone`; empty if too
    few voters are left. why: the end of the condition's text."""
    left = voters - gone - cluster.fenced_brokers - cluster.uncounted_voters - cluster.late_nodes
    needed = majority(len(voters))
    if len(left) < needed:
        return ()
    told = f"{needed} of the voters {listed(sorted(left))} have to run and be caught up: {why}"
    newest = newest_logs(cluster)
    return (f"{told}; {newest.clause}" if newest is not None else told,)


def newest_logs(cluster: Cluster) -> NewestLogs | None:
    """See NewestLogs; None where another voter can be counted, where none is behind, or where a
    voter's log is not at hand."""
    up, quorum = cluster.voters_up, cluster.quorum
    is_just = len(up) == majority(len(cluster.voters)) < len(cluster.voters)
    if quorum is None or cluster.now is None or not is_just or not cluster.is_led:
        return None
    if not cluster.voters & cluster.late_nodes or quorum.in_doubt(*NOT_AT_HAND):
        return None
    return NewestLogs(tuple(sorted(up)), cluster.now)


def leader_in_doubt(cluster: Cluster) -> NoLeader | None:
    """Why the quorum has perhaps no leader: voters are behind, have stopped, or have disks that
    can't be relied on, and without them and the voters that were not given no majority is left.
    None where nothing shows that a voter is missing, or where a majority is left."""
    if cluster.quorum is None or not cluster.voters & cluster.uncounted_voters:
        return None
    absent = {one.key.node_id for one in cluster.quorum.in_doubt(*NOT_AT_HAND)}
    unseen = cluster.voters_up & absent
    needed = majority(len(cluster.voters))
    if not unseen or len(cluster.voters_up - unseen) >= needed:
        return None
    late = cluster.voters & (cluster.uncounted_voters - cluster.unreliable_voters)
    unreliable = cluster.voters & cluster.unreliable_voters
    why = []
    if late:
        does = "lags behind or is stopped" if len(late) == 1 else "lag behind or are stopped"
        why.append(f"{_voters(late)} {does}")
    if unreliable:
        why.append(uncounted_text(unreliable))
    why.append(f"{_voters(unseen)} {'was' if len(unseen) == 1 else 'were'} not given")
    start = f"do what `kraftlake check` says about {_voters(unreliable)}"
    if late:
        is_one, seen = len(late) == 1, cluster.voters_up - unseen
        start = f"start {_voters(late)} with {'its own disk' if is_one else 'their own disks'}"
        if len(seen | late) >= needed:
            start += f": with {_voters(seen)} {'it is' if is_one else 'they are'} a majority"
    return NoLeader(
        f"has perhaps no leader: {needed} of the {_voters(cluster.voters)} have to run and be "
        f"caught up ({', '.join(why)})",
        is_sure=False,
        first=f"{_IF_NONE}, {start}",
    )
