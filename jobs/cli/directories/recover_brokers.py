"""The step of a recovery plan that starts the brokers, once the quorum has a leader."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from jobs.cli.directories.recover_fixed_steps import RecoverStep
from replica.doctor.check.catalogue import health
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.returning import Returning, returning
from replica.doctor.verdict.verdict import Verdict
from replica.metadata.image.snapshot import ELR_VERSION
from replica.shell_text import Shell, line, noted
from replica.words import counted, listed

_SHOWN = 5
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
    # a broker that crashed is eligible no more once it registers (KIP-966)
    may_lose = cluster.vanished if cluster.level(ELR_VERSION) else frozenset[int]()
    order = listed([*_order(brokers, may_lose)], limit=_SHOWN)
    return RecoverStep(f"Once there is a leader: {text} The start of {order}.", commands)


def _order(brokers: Sequence[Returning], may_lose: Collection[int]) -> Iterator[str]:
    """Clauses such as `broker 12 brings 5 partitions back`. may_lose: the brokers whose start may
    bring none of them back."""
    for place, one in enumerate(one for one in brokers if one.partitions):
        brings = "may bring" if one.broker in may_lose else "brings"
        what = counted(one.partitions, "more partition" if place else "partition")
        yield f"broker {one.broker} {brings} {what} back"


def _start(cluster: Cluster, broker: int) -> Shell:
    endpoints = cluster.values("brokers").get(broker, {}).get("endPoints", ())
    host = f", {endpoints[0]['host']}" if endpoints else ""
    command = line("bin/kafka-server-start.sh", "-daemon", "config/broker.properties")
    return noted(command, f"on broker {broker}{host}")
