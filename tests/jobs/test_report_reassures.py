"""The report reassures nobody where the verdict knows of a conflict, of disks that were put back,
of an outage or of lost records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.directories.reported.pages import report_of
from jobs.cli.sharing.report import lines_of
from pipelines.report.sections import first_page
from pipelines.report.view import ClusterView
from replica.doctor.check.catalogue import groups, health
from replica.doctor.verdict.old_disks import OLD_DISKS
from tests.jobs.conftest import Kraftlake
from tests.jobs.judged_incidents import INCIDENTS, SEEDS, incident

REASSURANCES = (
    r"no capture shows a node whose metadata log lost records",
    r"nothing committed",
    r"no committed record",
    r"No (lost )?change of the cluster was",
    r"the cluster lost none",
    r"[Nn]o(ne of the)? partitions?( that were looked at)? was (ever|seen)",
    r"no rule about this state warns",
    r"snapshots? (is|are) valid",
    r"logs of all \d+ nodes (agree|are the same)",
    r"asks for anything",
)
"""What the report says where all is well."""
LOSING = {
    *OLD_DISKS, groups.CONFLICT.id, groups.TWO_LEADERS.id, groups.LOG_DIVERGENCE.id,
    groups.COMMITTED_DATA_AT_RISK.id, health.UNCLEAN_LEADER.id,
    health.LEADER_IN_NEW_DIRECTORY.id, health.RETENTION_SHORTENED.id,
}  # fmt: skip
PUT_BACK = {groups.CONFLICT.id, *OLD_DISKS} - {groups.VOTER_BEHIND.id}
SURE = (r"\bHigh\.", r"Every file could be read")
"""What the report says where nothing is in doubt."""


def said_first(view: ClusterView) -> str:
    """What is printed of a cluster, and the summary on its page."""
    page = first_page.summary(view, is_one_of_several=False)
    return "\n".join((*lines_of(view), re.sub(r"<[^>]+>", " ", page)))


def is_grave(verdict: dict[str, Any]) -> bool:
    """Whether a verdict of check knows of an outage, a risk, a disk or records that are lost."""
    return verdict["level"] in ("outage", "at-risk") or not rules_of(verdict).isdisjoint(LOSING)


def rules_of(verdict: dict[str, Any]) -> set[str]:
    return {rule for fact in verdict["facts"] for rule in fact["rules"]}


def contradictions(kraftlake: Kraftlake, folder: Path) -> Iterator[str]:
    told = {one["cluster_id"]: one for one in kraftlake("check", "--json", folder).verdicts}
    report = report_of([str(folder)], [], None)
    assert report is not None
    for view in report.clusters:
        verdict, found = told[view.cluster_id], said_first(view)
        if is_grave(verdict):
            yield from (one for one in REASSURANCES if re.search(one, found))
        if not rules_of(verdict).isdisjoint(PUT_BACK):
            yield from (one for one in SURE if re.search(one, found))
        if groups.CONFLICT.id in rules_of(verdict) and "leads since" in found:
            yield "leads since"


@pytest.mark.parametrize("name", INCIDENTS)
def test_nothing_reassures_beside_what_is_grave(
    kraftlake: Kraftlake, tmp_path: Path, name: str
) -> None:
    assert [*contradictions(kraftlake, incident(name, tmp_path / "nodes"))] == []


@pytest.mark.parametrize("name", INCIDENTS)
def test_the_report_begins_with_the_lines_of_check(
    kraftlake: Kraftlake, tmp_path: Path, name: str
) -> None:
    """The same level, headline and steps in the same order. After three steps only the facts are
    told."""
    folder = incident(name, tmp_path / "nodes")
    checked = kraftlake("check", folder).lines
    checked = checked[: checked.index("") if "" in checked else None]
    report = report_of([str(folder)], [], None)
    assert report is not None
    (view,) = report.clusters
    lines = [*lines_of(view)]
    steps = [one for one in lines if one.startswith(("  next", "first"))]
    assert len(steps) <= 3
    assert lines[:2] == checked[:2] or not view.evidence.facts
    assert lines[0] == checked[0]
    beside = ("logs", "cluster", "refused", "            ")
    own = [one for one in lines if not one.startswith(beside)]
    assert own == [*dict.fromkeys(one for one in checked if one in own)]
    missing = [one for one in checked if one not in lines and not one.startswith("cluster")]
    assert all(one.startswith("  next") for one in missing)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_nothing_reassures_beside_what_is_grave_in_random_incidents(
    kraftlake: Kraftlake, tmp_path: Path, name: str
) -> None:
    assert [*contradictions(kraftlake, incident(name, tmp_path / "nodes"))] == []
