"""The step of a recovery plan that starts the brokers, once the quorum has a leader."""

from __future__ import annotations

from jobs.cli.directories.recover_fixed_steps import RecoverStep
from replica.doctor.check.catalogue import health
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.returning import returning
from replica.doctor.verdict.start_of_brokers import without_controllers
from replica.doctor.verdict.verdict import Verdict
from replica.shell_text import Shell, line, noted

_RULES = frozenset({health.WITHOUT_LEADER.id, health.NO_ELIGIBLE_LEADER.id})


def start_of_brokers(cluster: Cluster, verdict: Verdict) -> RecoverStep | None:
    """The step; None where no broker's start gives a partition a leader. It says what the verdict
    says of the same brokers, and which of them comes first. Nodes that are voters, too, start with
    the quorum."""
    steps = (fact.next_step for fact in verdict.facts if not _RULES.isdisjoint(fact.rules))
    text = next(filter(None, steps), "")
    if not text:
        return None
    brokers = [one for one in returning(cluster) if one.broker not in cluster.voters]
    if not any(one.partitions for one in brokers):
        return None
    commands = tuple(_start(cluster, one.broker) for one in brokers)
    return RecoverStep(f"Once there is a leader: {without_controllers(text)}", commands)


def _start(cluster: Cluster, broker: int) -> Shell:
    endpoints = cluster.values("brokers").get(broker, {}).get("endPoints", ())
    host = f", {endpoints[0]['host']}" if endpoints else ""
    command = line("bin/kafka-server-start.sh", "-daemon", "config/broker.properties")
    return noted(command, f"on broker {broker}{host}")
