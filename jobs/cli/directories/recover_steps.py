"""The steps of a recovery plan, in the order in which an operator takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from jobs.cli.directories.recover_brokers import BrokerSteps
from jobs.cli.directories.recover_first_steps import name_others, start_of_others, start_others
from jobs.cli.directories.recover_fixed_steps import (
    FIND_OUT_WHY_NOBODY_LEADS,
    RecoverStep,
)
from jobs.cli.directories.recover_histories import (
    choose_a_history,
    compare_histories,
    is_of_voters,
)
from jobs.cli.directories.recover_quorum import PlannedQuorum
from replica.doctor.check.examined import Examined
from replica.doctor.health.hosted import HostedReplicas
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan
from replica.model.keys import ReplicaKey
from replica.words import named

NOTHING_TO_RECOVER = "The quorum needs no recovery: every voter is here"
NO_BROKERS: HostedReplicas = MappingProxyType({})
NO_STEPS = BrokerSteps()


def steps_of(
    plan: RecoveryPlan,
    by_key: Mapping[ReplicaKey, Examined],
    hosted: HostedReplicas = NO_BROKERS,
    brokers: BrokerSteps = NO_STEPS,
) -> Iterator[RecoverStep]:
    """The steps, in the order in which a person takes them. kraftlake itself takes none. hosted:
    the partition replicas of voters that are brokers, too. brokers: from steps_of_brokers."""
    quorum = PlannedQuorum(plan, by_key, hosted)
    if quorum.bundles:
        yield quorum.unpack()
    elif plan.is_whole:
        yield from quorum.keep()
        yield from filter(None, [brokers.copy])
        yield from quorum.start_left(
            f"{NOTHING_TO_RECOVER}. Leave the controllers that run as they are, and start the "
            "others."
        )
        yield quorum.describe("See that one of them leads and the others follow it.")
        yield from filter(None, [brokers.start])
        yield from _rejoined(quorum)
    elif plan.answer is RecoveryDecision.SAFE and plan.has_majority:
        yield from _with_majority(quorum, brokers)
    else:
        yield from _without_majority(quorum, brokers)


def _with_majority(quorum: PlannedQuorum, brokers: BrokerSteps) -> Iterator[RecoverStep]:
    plan = quorum.plan
    yield from quorum.keep()
    yield from filter(None, [brokers.copy])
    if quorum.doubted:
        yield quorum.leave_stopped()
    nodes = named("node", [str(voter.node_id) for voter in quorum.started_first])
    text = f"Start {nodes}, each with its directory as it is. Leave those that run as they are."
    text = text if quorum.started_first else "Start no other node yet."
    yield from quorum.start_left(text, brokers.voters)
    yield quorum.describe("See that one of them leads and the others follow it.")
    yield from filter(None, [brokers.start])
    for voter in sorted(plan.missing):
        if voter in quorum.replaced_disks:
            yield quorum.admit(voter)
            continue
        if voter in quorum.not_given:
            yield quorum.start_with_own_disk(voter)
        yield quorum.replace(voter)
    for voter in quorum.doubted:
        if voter not in plan.missing:
            yield quorum.empty(voter)
    yield from _rejoined(quorum)


def _rejoined(quorum: PlannedQuorum) -> Iterator[RecoverStep]:
    """The steps for voters whose disks turn out to be older copies. A rehearsal plays the start
    with their own disks instead."""
    for voter in quorum.rejoining:
        yield replace(quorum.replace(voter), plays=())


def _without_majority(quorum: PlannedQuorum, brokers: BrokerSteps) -> Iterator[RecoverStep]:
    plan = quorum.plan
    start = (
        None if plan.answer is RecoveryDecision.REFUSED else start_of_others(quorum, brokers.voters)
    )
    if start is not None:
        yield start_others(quorum, start)
    if plan.missing or not plan.voters:
        yield name_others(quorum, is_first=start is None)
    if plan.holds_nothing:
        yield FIND_OUT_WHY_NOBODY_LEADS
        return
    if is_of_voters(plan.quorum):
        yield from choose_a_history(quorum)
        return
    yield quorum.stop()
    yield from quorum.keep()
    yield from filter(None, [brokers.copy])
    if plan.answer is RecoveryDecision.REFUSED or (plan.voters and not plan.missing):
        yield compare_histories(quorum)
    else:
        yield from quorum.without_majority()
