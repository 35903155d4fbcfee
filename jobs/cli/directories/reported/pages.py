"""The report of directories, made without a lake."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from jobs.cli.clock import clock_of
from jobs.cli.directories.given_rounds import GivenRounds, check_cluster, rounds_in
from jobs.cli.directories.judged_clusters import judged_clusters
from jobs.cli.directories.reported import captures, judged
from jobs.cli.directories.reported.beside import events, state_now
from jobs.cli.directories.reported.given import GivenCluster, Round, figure, round_of
from jobs.cli.directories.reported.parted import Parted
from jobs.cli.directories.reported.walked import Walked
from jobs.cli.directories.what_happened import incident_of, newest_rounds
from jobs.cli.output import ProgressLine
from pipelines.cyclic_garbage import no_search_for_cycles
from pipelines.report.evidence import Evidence
from pipelines.report.page import MAX_CLUSTERS, Report
from pipelines.report.source import Figure
from pipelines.report.view import ClusterView, cluster_view
from replica.doctor.check.known_quorum import compared_logs, earlier_rounds
from replica.doctor.timeline.branch import Branch, branches_of
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.outage import leader_lacked
from replica.doctor.verdict.verdict import Verdict
from replica.installation import line_that_adds, release
from replica.metadata.log_record import LogRecordReader
from replica.metadata.redact import Redactor


def report_of(paths: Sequence[str], order: Sequence[str], cluster: str | None) -> Report | None:
    """The report; None where no directory both names its cluster and holds a metadata record.
    Raises KraftlakeError. cluster: the id of the only cluster to report on; None for all
    clusters."""
    progress = ProgressLine()
    directories = rounds_in(paths, order, progress, for_check=True)
    with no_search_for_cycles(), directories as given:
        newest = newest_rounds(given.rounds)
        check_cluster(cluster, newest)
        branches = [
            one
            for one in branches_of(given.rounds, given.formatted)
            if one.cluster_id is not None and cluster in (None, one.cluster_id)
        ]
        if not branches:
            return None
        judgements = _judged(given, progress)
        views = [
            _view(given, branch, judgements, number, progress)
            for number, branch in enumerate(branches[:MAX_CLUSTERS], start=1)
        ]
        progress.clear()
        return Report(
            None,
            release(),
            datetime.now(UTC),
            tuple(views),
            len(branches) - len(views),
            figure([judged.damage_row(one) for one in given.damages]),
            tuple(paths),
            line_that_adds("lake"),
        )


_Judgements = dict[str | None, list[tuple[int, JudgedCluster, Verdict]]]
"""By cluster id: (the index of the round, the cluster as it was judged, the verdict) of each of its
rounds, the oldest first."""


def _judged(given: GivenRounds, progress: ProgressLine) -> _Judgements:
    found: _Judgements = {}
    for number, examined in enumerate(given.rounds):
        is_newest = number == len(given.rounds) - 1
        for cluster, verdict in judged_clusters(
            examined,
            given.unread if is_newest else (),
            progress.show,
            earlier=earlier_rounds(given.rounds[:number]),
            formatted=given.formatted,
        ):
            found.setdefault(cluster.cluster_id, []).append((number, cluster, verdict))
    return found


def _view(
    given: GivenRounds,
    branch: Branch,
    judgements: _Judgements,
    number: int,
    progress: ProgressLine,
) -> ClusterView:
    """The view of the cluster of a branch. number: the number of the cluster on the page."""
    of_cluster = judgements[branch.cluster_id]
    _, newest, verdict = of_cluster[-1]
    now = datetime.now(UTC)
    cluster = GivenCluster(
        str(branch.cluster_id),
        tuple(_round(given, place, each, now) for place, each, _ in of_cluster),
        branch,
        verdict,
        newest.behind,
        given.formatted,
    )
    redactor = Redactor(os.urandom(32))
    parted = Parted(cluster, LogRecordReader(redactor))
    walked = Walked(branch, redactor, progress.show, parted.lost_records)
    incident = incident_of(newest, verdict, branch, progress)
    evidence = _evidence(cluster, walked, parted, incident.fenced_unasked)
    beside = [events(incident, clock_of(None))]
    if newest.cluster is not None and verdict.state is not None:
        beside.append(
            state_now(
                newest.cluster, verdict.state.text, leader_lacked(verdict.facts), walked.image
            )
        )
    return cluster_view(evidence, number, beside=tuple(beside))


def _round(given: GivenRounds, place: int, cluster: JudgedCluster, now: datetime) -> Round:
    members = [
        one.examined
        for one in cluster.members
        if one.partition.is_metadata and one.examined.replica is not None
    ]
    name = given.names[place] if given.names else None
    return round_of(place, name, compared_logs(members, {}), cluster, now)


def _evidence(
    given: GivenCluster, walked: Walked, parted: Parted, fenced_unasked: Collection[int]
) -> Evidence:
    """The evidence on a cluster, in the form that the page of a lake has. fenced_unasked: see
    known_outages."""
    lost = parted.lost(walked)
    quorum = given.newest.judged.quorum
    voters = () if quorum is None else sorted(one.node_id for one in quorum.voters)
    figures: dict[str, Any] = {
        **captures.figures(given),
        **judged.figures(given),
        **parted.figures,
    }
    return Evidence(
        given.cluster_id,
        {"groups": len(given.rounds), "captures": sum(len(one.captures) for one in given.rounds)},
        **figures,
        activity=walked.activity(),
        decoded=tuple(parted.decoded()),
        truncated=parted.truncated(),
        losses=(*(one.loss for one in lost), *parted.losses[len(lost) :]),
        lost=lost,
        newest_changes=walked.newest(),
        state_ranges=walked.state_ranges(),
        voter_sets=_voter_set(voters),
        judged=given.verdict,
        outages=judged.known_outages(given.newest.judged, fenced_unasked),
    )


def _voter_set(voters: Sequence[int]) -> Figure | None:
    """The voters that the newest files name, as one set that was always in force; None where there
    are none."""
    if not voters:
        return None
    value = json.dumps({"voters": [{"voterId": one} for one in voters]})
    return figure([{"valid_from_offset": 0, "value": value}])
