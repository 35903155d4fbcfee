"""The verdicts on several clusters as one verdict: first what affects all clusters, then each
cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from jobs.cli.directories.verdict_text import labelled, runbook_text, step_lines, verdict_line
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.verdict import Fact, Verdict, runbook_of_facts
from replica.words import counted, named

_MAX_CLUSTERS = 5
"""The most clusters that the lines above all verdicts name."""
_MAX_SHARED = 2


class ClusterVerdict(NamedTuple):
    """A verdict, and the nodes of its cluster whose directories were given."""

    verdict: Verdict
    nodes: tuple[int, ...]


class OneVerdict(NamedTuple):
    """One verdict for all clusters, and the remaining verdict on each cluster."""

    lines: tuple[str, ...]
    """At most ten lines to print first; none for a single cluster."""
    verdicts: tuple[Verdict, ...]
    """What remains to print about each cluster, in the same order."""


def nodes_of_cluster(cluster: JudgedCluster) -> tuple[int, ...]:
    """The ids of a cluster's nodes whose directories were given, ascending."""
    replicas = (member.examined.replica for member in cluster.members)
    return tuple(sorted({one.node_id for one in replicas if one is not None}))


def one_verdict(clusters: Sequence[ClusterVerdict]) -> OneVerdict:
    """The verdict that covers all of these clusters. clusters: the worst first."""
    verdicts = tuple(one.verdict for one in clusters)
    if len(clusters) < 2:
        return OneVerdict((), verdicts)
    shared = _shared(verdicts)
    told = frozenset(fact.text for fact in shared)
    apart = tuple(_without(one, told) for one in verdicts)
    of_each = [ClusterVerdict(left, one.nodes) for one, left in zip(clusters, apart, strict=True)]
    return OneVerdict((*_lines(shared, of_each), ""), apart)


def _shared(verdicts: Sequence[Verdict]) -> tuple[Fact, ...]:
    """The facts about disks of several clusters, each once, and at most _MAX_SHARED."""
    facts = {fact.text: fact for one in verdicts[::-1] for fact in one.of_other_clusters}
    return tuple(facts.values())[::-1][:_MAX_SHARED]


def _without(verdict: Verdict, told: frozenset[str]) -> Verdict:
    """The verdict without the facts that were printed above. The first fact that remains gives the
    level; if no fact remains, the level stays. told: the texts of the printed facts."""
    left = tuple(fact for fact in verdict.facts if fact.text not in told)
    if len(left) == len(verdict.facts):
        return verdict
    steps = {fact.next_step for fact in verdict.facts} - {fact.next_step for fact in left}
    return replace(
        verdict,
        level=left[0].level if left else verdict.level,
        headline=left[0].text if left else "See above. Its directories show no other fault now.",
        facts=left,
        next_steps=tuple(step for step in verdict.next_steps if step not in steps),
    )


def _lines(shared: Sequence[Fact], clusters: Sequence[ClusterVerdict]) -> Iterator[str]:
    worst = clusters[0].verdict
    for fact in shared:
        yield verdict_line(replace(worst, level=fact.level, headline=fact.text))
        yield from step_lines(fact)
    if not shared:
        many = f"{counted(len(clusters), 'cluster')} are in these directories. "
        yield verdict_line(replace(worst, headline=f"{many}The worst: {worst.headline}"))
        for fact in worst.facts[:1]:
            yield from step_lines(fact)
    runbook = runbook_of_facts(shared)
    if runbook is not None:
        yield labelled("runbook", runbook_text(runbook))
    for number, one in enumerate(clusters[:_MAX_CLUSTERS]):
        label = "" if number else "clusters"
        yield labelled(label, _in_short(one))
    if len(clusters) > _MAX_CLUSTERS:
        yield labelled("", f"and {len(clusters) - _MAX_CLUSTERS} more, told below")


def _in_short(one: ClusterVerdict) -> str:
    verdict = one.verdict
    nodes = f" ({named('node', [str(each) for each in one.nodes])})" if one.nodes else ""
    return f"{verdict.cluster_id or 'unknown'}{nodes}: {verdict.level.shown}: {verdict.headline}"
