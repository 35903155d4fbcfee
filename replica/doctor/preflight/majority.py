"""Whether a majority of the voters is left, by the log and by what the directories prove.

A voter whose node the log shows to be down is not left. One whose disk may not be counted, or that
seems to have stopped, leaves the answer unknown where the majority depends on it. That the others
run is in no log: it is a condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from replica.doctor.health.cluster import Cluster, listed
from replica.doctor.preflight.answer import Reason, note, unknown, unsafe
from replica.model.voters import majority
from replica.words import named

NO_LOG = "no log shows that"
"""Why a condition is none of the facts."""


def majority_reason(
    cluster: Cluster, subject: str, voters: frozenset[int], gone: frozenset[int] = frozenset()
) -> Reason:
    """The reason about the majority of these voters when the nodes `gone` are stopped."""
    needed = majority(len(voters))
    rest = voters - gone
    down = rest & cluster.fenced_brokers
    unreliable = (rest & cluster.unreliable_voters) - down
    stopped = (rest & cluster.stopped_together) - unreliable - down
    left = rest - down - unreliable - stopped
    told = f"{len(left)} of {len(voters)} voters are left, {needed} are needed"
    if down:
        why = "is down: its broker is" if len(down) == 1 else "are down: their brokers are"
        told += f"; {_voters(down)} {why} fenced, or shutting down"
    if unreliable:
        why = "its directory" if len(unreliable) == 1 else "their directories"
        told += f"; {_voters(unreliable)} can't be counted: {why} can't be relied on"
    if stopped:
        told += f"; {_voters(stopped)} {seem_stopped(stopped)}"
    if len(left) >= needed:
        return note(subject, told)
    return (unsafe if len(rest - down) < needed else unknown)(subject, told)


def seem_stopped(nodes: Collection[int]) -> str:
    """What is said of nodes whose logs ended together: see Cluster.stopped_together."""
    return f"{'seems' if len(nodes) == 1 else 'seem'} to be stopped"


def _voters(voters: frozenset[int]) -> str:
    return named("voter", [str(one) for one in sorted(voters)])


def caught_up_needs(cluster: Cluster, nodes: Iterable[int]) -> tuple[str, ...]:
    """The condition on which an answer rests that relies on these nodes, where the logs of some end
    long before the newest one; none where none does."""
    late = {
        one: cluster.lags[one]
        for one in sorted({*nodes} & cluster.lags.keys())
        if one not in cluster.stopped_together
    }
    if not late:
        return ()
    names = [
        f"{one} (offset {lag.end - 1}, {lag.ms // 1000} s earlier)" for one, lag in late.items()
    ]
    has, its = ("has", "its log ends") if len(late) == 1 else ("have", "their logs end")
    return (
        f"{named('node', names, limit=5)} {has} to be caught up: {its} before the newest one here, "
        "as of a node that lags or has stopped, or of an older copy",
    )


def majority_needs(
    cluster: Cluster, voters: frozenset[int], gone: frozenset[int] = frozenset()
) -> tuple[str, ...]:
    """The condition on which the majority rests; none where there is no majority."""
    left = voters - gone - cluster.fenced_brokers - cluster.uncounted_voters
    needed = majority(len(voters))
    if len(left) < needed:
        return ()
    return (
        f"{needed} of the voters {listed(sorted(left))} have to run and be caught up: {NO_LOG}",
    )
