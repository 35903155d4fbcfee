"""The verdict of `kraftlake check`, for the commands that print it before their own answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from replica.doctor.check.examined import Examined, by_cluster
from replica.doctor.check.group import judge_group
from replica.doctor.check.known_quorum import EarlierRounds
from replica.doctor.check.membership import judge_membership, members_of
from replica.doctor.check.partition import partition_of
from replica.doctor.check.rule import Finding
from replica.doctor.check.snapshot_validity import judge_log_start
from replica.doctor.verdict.evidence_of_directories import JudgedCluster, clusters_of, evidence_of
from replica.doctor.verdict.facts import SAID_BY_MESSAGE, verdict_on
from replica.doctor.verdict.verdict import Verdict
from replica.format.formatted import FormattedDirectory


def disks_of_several(examined: Iterable[Examined]) -> str:
    """The messages, in one text, about nodes that have disks of several clusters; "" where there
    are no such nodes, or where all disks are of one cluster."""
    of_metadata = [one for one in examined if partition_of(one).is_metadata]
    if len(by_cluster(of_metadata)) < 2:
        return ""
    found = judge_membership(members_of(of_metadata))
    told = (finding.message for _, finding in found if finding.rule.id in SAID_BY_MESSAGE)
    return ". ".join(f"{one[0].upper()}{one[1:]}" for one in dict.fromkeys(told))


def refusing_nodes(examined: Iterable[Examined], cluster_id: str | None) -> dict[int, str]:
    """The nodes of a cluster that refuse to start with these directories, by node id, each with its
    text for Cluster.unstartable. The cluster's other rules are not applied."""
    mine = [
        one
        for one in examined
        if partition_of(one).is_metadata and one.replica and one.replica.cluster_id == cluster_id
    ]
    found = [(one.owner.node_id, finding) for one in mine for finding in judge_log_start(one)]
    found += [(one.replica.node_id, finding) for one, finding in judge_membership(members_of(mine))]
    refusing = ((node, one) for node, one in found if one.rule.keeps_from_starting)
    return {node: f"{one.rule.id}: {one.message}" for node, one in refusing}


_NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})


def judged_clusters(
    examined: Sequence[Examined],
    unread: Sequence[Finding],
    show: Callable[[str], None],
    broker_defaults: Mapping[str, str] = _NO_DEFAULTS,
    earlier: EarlierRounds | None = None,
    formatted: Sequence[FormattedDirectory] = (),
) -> Iterator[tuple[JudgedCluster, Verdict]]:
    """Judges directories that were captured together. Gives each of their clusters, with the
    verdict on it.

    unread: the findings about other files that could not be read, and about nodes that never
    started. These findings count only where there is one cluster: with several, nothing shows to
    which cluster they belong. show: see Watch. broker_defaults: see clusters_of. earlier,
    formatted: see judge_group.
    """
    judged = judge_group(examined, show, newest=True, earlier=earlier, formatted=formatted)
    clusters = [*clusters_of(judged, broker_defaults)]
    beside = unread if len(clusters) == 1 else ()
    for one in clusters:
        yield one, verdict_on(evidence_of(one).with_unread(beside))
