"""Rules about the present state of a cluster, and about its state when nodes stop: check, plan and
the exposure agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from replica.doctor.check.catalogue import groups
from replica.doctor.health.exposure import BROKER, NOW, PAIR, RACK, VOTER, Exposure, Failure
from replica.doctor.preflight.answer import ChangeSafety
from replica.doctor.verdict.evidence_of_directories import evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.outage import NO_CHANGE
from replica.doctor.verdict.verdict import Level
from replica.model.voters import majority
from replica.severity import Severity
from tests.contradictions.answers import Answers, Rule

_BAD = (Severity.ERROR, Severity.WARNING)


def no_change_is_planned_by_one_of_two_histories(answers: Answers) -> Iterator[str]:
    """A condition or a step about nodes of one history is about the other one where it stands: to
    bring a voter to the end of the log destroys what the voter has."""
    if groups.CONFLICT.id not in answers.between:
        return
    for what, plan in (*answers.stops.items(), *answers.racks.items()):
        if plan.needs or plan.order or plan.answer is not ChangeSafety.UNKNOWN:
            yield f"check says conflict, the stop of {what} is {plan.answer} with {plan.needs}"


def nothing_is_healthy_with_partitions_without_leader(answers: Answers) -> Iterator[str]:
    """Nobody can write to such a partition: it is an outage, and the first fact to report."""
    now = answers.exposure(NOW)
    if now is None or not now.harm.leaderless or answers.checked is None:
        return
    count = now.harm.leaderless
    if not any(one.severity in _BAD for one in (answers.checked.health or ())):
        yield f"{count} partitions have no leader by the exposure, check says healthy"
    if verdict_on(evidence_of(answers.checked)).level is not Level.OUTAGE:
        yield f"{count} partitions have no leader by the exposure, the verdict is no outage"
    if answers.in_lake is not None and answers.in_lake.report.verdict.level is not Level.OUTAGE:
        yield f"{count} partitions have no leader by the exposure, the report says no outage"


def a_safe_stop_does_no_harm_by_the_exposure(answers: Answers) -> Iterator[str]:
    """Both say what is left once the same brokers are gone."""
    now = answers.exposure(NOW)
    for ids, stop in answers.stops.items():
        kind = BROKER if len(ids) == 1 else PAIR
        failure = Failure(kind, tuple(map(str, ids)))
        yield from _harmless(f"stop of {list(ids)}", stop.answer, now, answers.exposure(failure))
        if len(ids) == 1:
            voter = answers.exposure(Failure(VOTER, failure.gone))
            yield from _harmless(f"stop of {list(ids)}", stop.answer, now, voter)
    for rack, stop in answers.racks.items():
        gone = answers.exposure(Failure(RACK, (rack,)))
        yield from _harmless(f"stop of rack {rack}", stop.answer, now, gone)


def _harmless(
    what: str, answer: ChangeSafety, now: Exposure | None, then: Exposure | None
) -> Iterator[str]:
    if answer is not ChangeSafety.SAFE or now is None or then is None:
        return
    if then.has_majority is False and now.has_majority is not False:
        yield f"{what} is safe, the exposure leaves no majority"
    if then.harm.leaderless > now.harm.leaderless:
        yield f"{what} is safe, {then.harm.leaderless} partitions lose their leader"
    if then.harm.below_min_isr > now.harm.below_min_isr:
        yield f"{what} is safe, {then.harm.below_min_isr} partitions are below min.insync.replicas"


def a_stop_that_does_harm_by_the_exposure_is_the_only_unsafe_one(answers: Answers) -> Iterator[str]:
    """A false alarm keeps people from their work, and they learn to ignore alarms."""
    now, cluster = answers.exposure(NOW), answers.cluster
    if cluster is None or not cluster.is_led:  # a broker that stops then doesn't come back
        return
    for ids, stop in answers.stops.items():
        kind = BROKER if len(ids) == 1 else PAIR
        then = answers.exposure(Failure(kind, tuple(map(str, ids))))
        if then is None or now is None or stop.answer is not ChangeSafety.UNSAFE:
            continue
        same = then.has_majority is not False and then.harm == now.harm
        below = any("min.insync.replicas" in one.detail for one in stop.reasons)
        if same and not below:
            why = stop.reasons[0].detail
            yield f"stop of {list(ids)} is unsafe ({why}), no harm by the exposure"


def plan_and_the_exposure_say_of_the_leader_what_the_verdict_says(
    answers: Answers,
) -> Iterator[str]:
    """Without a leader of the quorum a partition whose leader stops gets no other, and the broker
    doesn't come back. An outage of the quorum that one of the three doesn't know misleads."""
    if answers.checked is None or answers.cluster is None:
        return
    facts = verdict_on(evidence_of(answers.checked)).facts
    if not any(
        one.level is Level.OUTAGE and not set(NO_CHANGE).isdisjoint(one.rules) for one in facts
    ):
        return
    for ids, stop in answers.stops.items():
        if stop.answer is ChangeSafety.SAFE:
            yield f"stop of {list(ids)} is safe, the verdict says that nobody leads"
    led = Counter(one.leader for one in answers.cluster.partitions.values())
    for broker, count in led.items():
        then = answers.exposure(Failure(BROKER, (str(broker),)))
        if then is not None and then.harm.leaderless < count:
            yield f"{broker} leads {count} partitions, the exposure finds other leaders for some"


def without_a_majority_nobody_else_leads_what_the_failed_brokers_led(
    answers: Answers,
) -> Iterator[str]:
    """Where a failure takes the quorum's majority, nobody elects another leader: all partitions
    that the failed brokers led have none. A smaller number contradicts the lost majority."""
    now = answers.exposure(NOW)
    if answers.cluster is None or now is None or not now.has_majority:
        return
    led = Counter(one.leader for one in answers.cluster.partitions.values())
    for one in answers.exposed:
        if one.failure.kind not in (BROKER, PAIR) or one.has_majority is not False:
            continue
        count = sum(led[int(broker)] for broker in one.failure.gone)
        if one.harm.leaderless < count:
            yield f"{one.failure.gone} take the majority, and {count} partitions that they lead"


def no_stop_is_safe_that_leaves_no_majority_of_unfenced_voters(answers: Answers) -> Iterator[str]:
    """A node that is voter and broker has one process. Where the log shows the broker as fenced,
    the voter may be down, too, and must not be counted without a condition."""
    cluster = answers.cluster
    if cluster is None or not cluster.voters:
        return
    brokers = cluster.values("brokers")
    down = {one for one in cluster.voters if one in brokers and brokers[one]["fenced"]}
    needed = majority(len(cluster.voters))
    for ids, stop in answers.stops.items():
        left = cluster.voters - down - set(ids)
        is_silent = stop.answer is ChangeSafety.SAFE and not stop.needs
        if down and cluster.voters & set(ids) and len(left) < needed and is_silent:
            yield f"stop of {list(ids)} is safe, of the voters {sorted(down)} are fenced"


def no_stop_is_safe_that_relies_on_disks_in_doubt(answers: Answers) -> Iterator[str]:
    """Where the disks of so many voters can't be relied on that the others are no majority, nobody
    knows whether the quorum has a leader: a broker that stops may not come back."""
    quorum = answers.plan.quorum
    left = len(quorum.voters) - len(quorum.unreliable)
    if quorum.unreliable and left < majority(len(quorum.voters)):
        for ids, stop in answers.stops.items():
            if stop.answer is ChangeSafety.SAFE:
                yield f"stop of {list(ids)} is safe, recover relies on {left} voters"


STOPPING: tuple[Rule, ...] = (
    nothing_is_healthy_with_partitions_without_leader,
    a_safe_stop_does_no_harm_by_the_exposure,
    a_stop_that_does_harm_by_the_exposure_is_the_only_unsafe_one,
    no_change_is_planned_by_one_of_two_histories,
    plan_and_the_exposure_say_of_the_leader_what_the_verdict_says,
    without_a_majority_nobody_else_leads_what_the_failed_brokers_led,
    no_stop_is_safe_that_leaves_no_majority_of_unfenced_voters,
    no_stop_is_safe_that_relies_on_disks_in_doubt,
)
