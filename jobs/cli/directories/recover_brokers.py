"""The steps of a recovery plan about the brokers: the copy of what their start discards, and their
start once the quorum has a leader."""

from __future__ import annotations

from typing import NamedTuple

from jobs.cli.directories.recover_fixed_steps import RecoverStep
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.copy_first import copies_first, to_copy, what_is_discarded, what_to_copy
from replica.doctor.health.returning import returning
from replica.doctor.verdict.start_of_voters import StartOfVoters
from replica.doctor.verdict.verdict import Verdict
from replica.shell_text import Shell, line, noted
from replica.words import named, sentence

_EACH = "a path of its log.dirs, with this and the next line once for each path"


class BrokerSteps(NamedTuple):
    """The steps about brokers, and what the verdict says of the voters. copy: the step that copies
    what a start discards. start: the step that starts the brokers. Each is None where the plan has
    no such step. voters: see Verdict.start."""

    copy: RecoverStep | None = None
    start: RecoverStep | None = None
    voters: StartOfVoters | None = None


def steps_of_brokers(cluster: Cluster, verdict: Verdict) -> BrokerSteps:
    """The steps about the cluster's brokers. verdict: has the text about their start, and the start
    of the voters."""
    return BrokerSteps(_copy_of(cluster), _start_of(cluster, verdict), verdict.start)


def _copy_of(cluster: Cluster) -> RecoverStep | None:
    """The step that copies log directories before a start discards their records, also those of
    brokers that are voters, too. This step starts nothing, so that whoever pastes its commands has
    the copy first. None where no start discards records."""
    copies = [one for one in copies_first(cluster) if what_to_copy([one])]
    if not copies:
        return None
    commands = [
        command
        for broker in to_copy(copies)
        for command in (
            noted(Shell("LOG_DIR=/var/lib/kafka/data"), f"{_on(cluster, broker)}: {_EACH}"),
            noted(Shell('cp -a "$LOG_DIR" "$LOG_DIR"-before-start'), _on(cluster, broker)),
        )
    ]
    before = f"Don't start {named('broker', [str(one.broker) for one in copies])} before."
    if to_copy(copies) == [one.broker for one in copies]:
        before = "Don't start it before." if len(copies) == 1 else "Start none of them before."
    copy = sentence(what_to_copy(copies))
    told = (copy, what_is_discarded(copies), before)
    return RecoverStep(" ".join(filter(None, told)), tuple(commands))


def _start_of(cluster: Cluster, verdict: Verdict) -> RecoverStep | None:
    """The step that starts the brokers; None where no broker's start gives a partition a leader.
    Its text is that of the verdict, which says which broker starts first. Brokers that are voters,
    too, are not in it: they start with the quorum."""
    text = next((fact.once_led for fact in verdict.facts if fact.once_led), "")
    if not text:
        return None
    brokers = [one for one in returning(cluster) if one.broker not in cluster.voters]
    if not any(one.partitions for one in brokers):
        return None
    commands = tuple(_start(cluster, one.broker) for one in brokers)
    return RecoverStep(f"Once there is a leader: {text}", commands)


def _start(cluster: Cluster, broker: int) -> Shell:
    command = line("bin/kafka-server-start.sh", "-daemon", "config/broker.properties")
    return noted(command, _on(cluster, broker))


def _on(cluster: Cluster, broker: int) -> str:
    endpoints = cluster.values("brokers").get(broker, {}).get("endPoints", ())
    host = f", {endpoints[0]['host']}" if endpoints else ""
    return f"on broker {broker}{host}"
