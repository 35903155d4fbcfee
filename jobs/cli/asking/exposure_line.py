"""The answer of `kraftlake state --exposure` in one line: the broker whose failure does most harm,
with the numbers of partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.exposure import Exposure, Harm
from replica.words import counted, listed, named, sentence

_NAMED = 3
"""At most so many brokers or voters are named where the failures of several do the same harm."""


def worst_first(exposure: Exposure) -> tuple[bool, int, int, int, int]:
    """The sort key: failures that leave no majority first, then the larger number of partitions
    without a leader, then of those among them that need an unclean election, then of partitions
    below min.insync.replicas, then of partitions that may be below it."""
    harm = exposure.harm
    return (
        exposure.has_majority is not False,
        -harm.leaderless,
        -harm.needs_unclean,
        -harm.below_min_isr,
        -exposure.may_be_below,
    )


def exposure_line(
    cluster: Cluster,
    now: Exposure,
    brokers: Sequence[Exposure],
    voters: Sequence[Exposure],
    *,
    is_conditional: bool = False,
) -> str:
    """The answer as one line. now: the exposure without a further failure. brokers, voters: the
    exposures to the failure of each broker and of each voter. is_conditional: whether the figures
    depend on facts that no log shows."""
    total = len(cluster.partitions)
    worst = _worst_of(now, brokers) if total else ()
    told = [
        *_of_down(cluster, now),
        _of_brokers(total, now, worst, is_live=bool(brokers), is_led=cluster.is_led),
    ]
    if cluster.is_led:
        told += _of_voters(now, voters, {one.failure.gone for one in worst})
    told += _of_leader(cluster, now)
    if is_conditional:
        told.append("the last lines say what this rests on")
    return " ".join(map(sentence, told))


def _of_down(cluster: Cluster, now: Exposure) -> Iterator[str]:
    """The nodes that are down now, and what that means for the quorum; no clause if no node is down
    and the quorum may have a leader."""
    voters = cluster.voters_down | cluster.stopped_together
    told = []
    if down := sorted(cluster.fenced_brokers | voters):
        told.append(f"down now: {named('node', [str(one) for one in down], limit=_NAMED)}")
    if not cluster.is_led:
        told.append("the quorum has no leader")
    elif voters and now.voters_left is not None:
        left = f"{now.voters_left} of {counted(len(cluster.voters), 'voter')}"
        told.append(f"{left} can be counted" + ", which is no majority" * (not now.has_majority))
    if told:
        yield ", and ".join(told)


def _worst_of(now: Exposure, brokers: Sequence[Exposure]) -> Sequence[Exposure]:
    """The failures of brokers that do most harm; none where no failure adds to the present harm."""
    worst = min(map(worst_first, (now, *brokers)))
    return [one for one in brokers if worst_first(one) == worst != worst_first(now)]


def _of_brokers(
    total: int, now: Exposure, worst: Sequence[Exposure], *, is_live: bool, is_led: bool
) -> str:
    """The clause about the worst failures of brokers. is_live: whether any broker is live. is_led:
    whether the quorum may have a leader."""
    if not total:
        return "the cluster has no partition"
    harmed = [*_harmed(now, now, total, is_led=is_led)]
    if not is_live:
        left = "" if not harmed else f": {listed(harmed)} now"
        return f"no broker is live by the log{left}"
    if worst:
        which = _one_of("broker", [one.failure.gone[0] for one in worst])
        return f"once {which} is gone, {listed([*_harmed(worst[0], now, total, is_led=is_led)])}"
    if not harmed and now.has_majority is False:
        return (
            f"by the log, 0 of {counted(total, 'partition')} {_have(total)} no leader and 0 refuse "
            "writes with acks=all now, and no broker's failure changes that"
        )
    if not harmed:
        one = "a partition" if total > 1 else "the partition"
        return f"no broker's failure leaves {one} without a leader or below min.insync.replicas"
    return f"{listed(harmed)} now, and the failure of one more broker harms no other partition"


def _harmed(one: Exposure, now: Exposure, total: int, *, is_led: bool) -> Iterator[str]:
    """Clauses about the harm of a failure, each with the number of partitions that are harmed
    already. now: the harm without a failure. is_led: whether the quorum may have a leader."""
    harm, of_all = one.harm, f" of {counted(total, 'partition')}"
    already = Exposure(now.failure, Harm()) if one is now else now
    if is_led and one.has_majority is False and now.has_majority is not False:
        yield "the quorum has no majority"
    if harm.leaderless:
        unclean = ""
        if harm.needs_unclean:
            of_which = f"{harm.needs_unclean} of which{_now(already.harm.needs_unclean)}"
            unclean = f", for {of_which} only an unclean election finds one"
        no = f"{_have(harm.leaderless)} no leader{_now(already.harm.leaderless)}"
        yield f"{harm.leaderless}{of_all} {no}{unclean}"
        of_all = ""
    if harm.below_min_isr:
        refuse = f"refuse{'s' * (harm.below_min_isr == 1)} writes with acks=all"
        below = _now(already.harm.below_min_isr, "below min.insync.replicas")
        yield f"{harm.below_min_isr}{of_all} {refuse}{below}"
        of_all = ""
    if one.may_be_below:
        more = " more" if harm.below_min_isr else ""
        its = "its" if one.may_be_below == 1 else "their"
        unknown = _now(already.may_be_below, f"{its} min.insync.replicas is not known")
        yield f"{one.may_be_below}{more}{of_all} may refuse writes with acks=all{unknown}"


def _now(count: int, *others: str) -> str:
    """The text in brackets behind a number of partitions: `count`, the number that is harmed now,
    if it isn't 0, and `others`, further clauses. "" if there is nothing to say."""
    told = [*([f"{count} now"] if count else []), *others]
    return f" ({'; '.join(told)})" if told else ""


def _of_voters(
    now: Exposure, voters: Sequence[Exposure], told: Collection[tuple[str, ...]]
) -> Iterator[str]:
    """A clause that names each voter without which the quorum has no majority. No clause if `told`
    has all of these voters, or if the quorum has no majority now. told: the nodes of the failures
    that the line has described."""
    if now.has_majority is False:
        return  # see _of_leader
    needed = [one.failure.gone[0] for one in voters if one.has_majority is False]
    if {(one,) for one in needed} - {*told}:
        yield f"once {_one_of('voter', needed)} is gone, the quorum has no majority"


def _of_leader(cluster: Cluster, now: Exposure) -> Iterator[str]:
    """What the numbers mean where the quorum has no leader, or perhaps none."""
    unled, none_counted = cluster.no_leader, now.has_majority is False
    without = "no partition gets another leader"
    if not cluster.is_led:
        yield f"without a leader of the quorum {without}"
    elif unled is not None or none_counted:
        why = "the voters that can be counted are no majority now: " * none_counted
        yield (
            f"{why}these are the numbers if the quorum has a leader now; without one, {without}"
            f"{_of_its_leader(cluster)}"
        )


def _of_its_leader(cluster: Cluster) -> str:
    """A clause about the failure of the broker that leads most partitions: how many partitions it
    leaves without a leader, if no partition gets another leader. "" if no live broker leads."""
    leaders = (one.leader for one in cluster.partitions.values())
    led = Counter(one for one in leaders if one in cluster.live_brokers)
    if not led:
        return ""
    most = min(led, key=lambda broker: (-led[broker], broker))
    of_all = f"{led[most]} of {counted(len(cluster.partitions), 'partition')}"
    return f": the failure of broker {most} leaves {of_all} without one"


def _one_of(noun: str, names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f"one of {counted(len(names), noun)} ({listed(names, limit=_NAMED)})"
    return f"{noun} {listed(names, last='or')}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
