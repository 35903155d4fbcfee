"""The verdict of `kraftlake check` for the commands that begin with it and then give an answer of
their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from replica.check.examined import Examined
from replica.check.group import judge_group
from replica.check.known_quorum import EarlierLooks
from replica.check.rule import Finding
from replica.verdict.evidence import PlacedFinding
from replica.verdict.facts import verdict_on
from replica.verdict.of_group import JudgedCluster, clusters_of, evidence_of
from replica.verdict.verdict import Verdict

_NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})


def verdicts_on(
    examined: Sequence[Examined],
    unread: Sequence[Finding],
    show: Callable[[str], None],
    earlier: EarlierLooks | None = None,
) -> dict[str | None, Verdict]:
    """The verdict on each cluster of directories that were looked at together, by cluster id.

    unread: what could not be read, or was never started, beside them. It counts where there is one
    cluster: else nobody knows to which of them it belongs. show: see Watch. earlier: see
    judge_group.
    """
    judged = judge_group(examined, show, newest=True, earlier=earlier)
    clusters = [*clusters_of(judged, _NO_DEFAULTS)]
    apart = unread if len(clusters) == 1 else ()
    return {one.cluster_id: verdict_of(one, apart) for one in clusters}


def verdict_of(cluster: JudgedCluster, unread: Sequence[Finding] = ()) -> Verdict:
    """The verdict on one cluster. unread: see verdicts_on."""
    evidence = evidence_of(cluster)
    placed = (PlacedFinding(finding.file, finding) for finding in unread)
    return verdict_on(replace(evidence, findings=(*evidence.findings, *placed)))
