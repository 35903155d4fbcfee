"""What the start of a broker discards, in the verdict: it is copied before each start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jobs.cli.directories.verdict_text import OF_CHECK, ON_PAGE, describe_verdict, verdict_in_short
from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Subject
from replica.doctor.health.copy_first import CopyFirst, copies_first
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Level, Verdict
from tests.replica.doctor.health.clusters import a_broker, a_partition, cluster_after, healthy
from tests.replica.doctor.verdict.test_facts import DOWN, LEADERLESS, about, of_partitions

UNCLEAN = about(health.UNCLEAN_LEADER, Subject("b-1", "led by 12 of [11, 12]"))
TO_COPY = (CopyFirst(11, ("b-1",)),)
COPY = "First copy the log directories of broker 11."


def shapes(verdict: Verdict) -> Iterator[list[str]]:
    """The verdict in each form that a command prints."""
    yield from (
        [*describe_verdict(verdict, form=ON_PAGE if is_page else OF_CHECK)]
        for is_page in (False, True)
    )
    yield [*verdict_in_short(verdict)]


def test_one_step_copies_starts_and_compares_and_no_other_says_it_again() -> None:
    refused = of_partitions(health.BELOW_MIN_ISR, "b-1")
    found = (*(LEADERLESS.health or ()), refused, UNCLEAN)
    verdict = verdict_on(replace(LEADERLESS, health=found, copy_first=TO_COPY))
    assert verdict.next_steps == (
        f"{COPY} Then start broker 11. Run no unclean election before: it may lose data. After the "
        "start compare b-1 with what their producers sent.",
    )
    for lines in (describe_verdict(verdict), verdict_in_short(verdict)):
        assert "\n".join(lines).count(COPY) == 1
    alike = {next(line for line in lines if COPY in line) for lines in shapes(verdict)}
    assert len(alike) == 1
    assert next(iter(alike)).startswith("first ")
    (risk,) = (fact for fact in verdict.facts if fact.level is Level.AT_RISK)
    assert risk.text == (
        "The start of broker 11 discards records that only it may hold: it truncates partition b-1 "
        "to the log of a leader that was elected uncleanly while it was down."
    )


def test_what_a_start_deletes_by_a_shorter_retention_is_copied_in_one_step() -> None:
    refused = of_partitions(health.BELOW_MIN_ISR, "b-1")
    to_copy = (CopyFirst(11, (), ("b",)),)
    copy = "First copy the log directories of broker 11, if you need the records of topic b"
    found = (*(LEADERLESS.health or ()), refused)
    steps = verdict_on(replace(LEADERLESS, health=found, copy_first=to_copy)).next_steps
    (step,) = steps
    assert step.startswith(f"{copy} that the start deletes. Then start ")
    alone = verdict_on(ClusterEvidence(health=(refused,), copy_first=to_copy))
    assert alone.next_steps[0].startswith(f"{copy} ")


def test_without_an_outage_a_broker_that_must_be_copied_first_is_a_risk() -> None:
    found = verdict_on(ClusterEvidence(health=(DOWN, UNCLEAN), copy_first=TO_COPY))
    assert found.level is Level.AT_RISK
    assert found.next_steps[0] == (
        f"{COPY} Then start broker 11. After the start compare b-1 with what their producers sent."
    )
    whole = verdict_on(ClusterEvidence(health=(UNCLEAN,)))
    assert whole.level is Level.ATTENTION, "nobody is down: nothing is left to copy"


def test_a_partition_that_no_broker_waits_to_discard_keeps_its_own_fact() -> None:
    """No broker that is down has a replica of c-0."""
    more = about(health.UNCLEAN_LEADER, Subject("b-1", "led by 12"), Subject("c-0", "led by 12"))
    found = verdict_on(ClusterEvidence(health=(DOWN, more), copy_first=TO_COPY))
    assert [fact.level for fact in found.facts] == [
        Level.AT_RISK, Level.ATTENTION, Level.ATTENTION,
    ]  # fmt: skip
    assert found.facts[1].text.startswith("b-1 and c-0: A partition's leader was elected")


def test_a_leader_that_was_elected_uncleanly_and_has_stopped_truncates_to_no_other() -> None:
    stopped = a_partition(isr=(), leader=-1, leaderRecoveryState=1, eligibleLeaderReplicas=(11,))
    brokers = [a_broker(one, fenced=True) for one in (11, 12)]
    (found, *_) = copies_first(cluster_after([*healthy(), *brokers, stopped]))
    assert found.broker == 12
    assert len(found.truncated) == 1
