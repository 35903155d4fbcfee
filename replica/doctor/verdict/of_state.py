"""The verdict on a cluster of which only a state is known, and no files."""

from __future__ import annotations

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.judging import judge_health
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Gap, KnownState, Verdict


def verdict_on_state(cluster: Cluster, *gaps: Gap) -> Verdict:
    """The verdict by the health of this state. gaps: what could not be judged besides."""
    return verdict_on(
        ClusterEvidence(
            cluster.cluster_id,
            health=(*judge_health(cluster),),
            partitions=len(cluster.partitions),
            state=KnownState(cluster.end_offset, cluster.now),
            gaps=gaps,
        )
    )
