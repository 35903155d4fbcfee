"""`kraftlake what-happened`: the verdict on a cluster, the few events that led to it, and what to
do next, on one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobs.cli.clock import ZonedClock, clock_of
from jobs.cli.commands.happening import WhatHappenedOptions
from jobs.cli.commands.options import names_in, passed_over_in
from jobs.cli.directories.check_text import brokers_not_given
from jobs.cli.directories.given_rounds import GivenRounds, check_cluster, rounds_in
from jobs.cli.directories.incident import (
    Incident,
    IncidentEvent,
    LeaderGaveUp,
    MajorityStop,
    gravest,
    incident_events,
)
from jobs.cli.directories.incident_page import incident_page
from jobs.cli.directories.judged_clusters import judged_clusters
from jobs.cli.directories.partition_folders import not_asked_for
from jobs.cli.directories.several_verdicts import ClusterVerdict, nodes_of_cluster, one_verdict
from jobs.cli.directories.story import decisive_few, story_lines
from jobs.cli.directories.verdict_text import ON_PAGE, describe_verdict, labelled, verdict_row
from jobs.cli.output import (
    ProgressLine,
    complain,
    is_standard_output,
    write_either,
    write_line,
    write_text,
)
from jobs.cli.page_file import write_page
from pipelines.cyclic_garbage import no_search_for_cycles
from replica.doctor.check.examined import Examined
from replica.doctor.check.known_quorum import earlier_rounds
from replica.doctor.check.newest import cluster_id_of
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.leaderless import BEFORE
from replica.doctor.timeline.asked_for import DAY_MS, HOUR_MS
from replica.doctor.timeline.branch import Branch, branches_of
from replica.doctor.timeline.decisive import decisive
from replica.doctor.timeline.event import COLUMNS
from replica.doctor.timeline.events import timeline
from replica.doctor.timeline.gaps import gaps_of
from replica.doctor.verdict.evidence import ClusterEvidence, no_log
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Verdict
from replica.terminal_text import one_line
from replica.words import counted

MAX_EVENTS = 12
"""The most events that are printed, the gravest and newest ones; --json has all events."""
MAX_STEPS = 5


def run(options: WhatHappenedOptions) -> int:
    """Prints the page of each cluster, the worst first. Returns 1 where something is wrong with a
    cluster, as `check` does, else 0. Raises KraftlakeError."""
    clock = clock_of(options.zone)
    progress, order = ProgressLine(), names_in(options.order)
    in_json = options.json_output
    is_page_alone = options.html is not None and is_standard_output(options.html)
    passed_over = passed_over_in(options.pass_over)
    directories = rounds_in(
        options.paths,
        order,
        progress,
        all_damages=in_json,
        passed_over=passed_over,
        for_check=True,
    )
    with no_search_for_cycles(), directories as given:
        newest = newest_rounds(given.rounds)
        check_cluster(options.cluster, newest)
        wanted = {one: newest[one] for one in newest if options.cluster in (None, one)}
        incidents = [*incidents_of(given, wanted, progress)]
        progress.clear()
        if not newest:  # no given file can be read, or no node has started
            evidence = ClusterEvidence(gaps=(no_log(given.unread),)).with_unread(given.unread)
            incidents = [Incident(verdict_on(evidence))]
        incidents.sort(key=lambda one: one.verdict.level.rank)
        whole = one_verdict([ClusterVerdict(one.verdict, one.nodes) for one in incidents])
        shown = [
            replace(one, verdict=left) for one, left in zip(incidents, whole.verdicts, strict=True)
        ]
        for number, (incident, left) in enumerate(zip(incidents, shown, strict=True)):
            above = [""] if number else whole.lines
            lines = [*above, *describe(left, clock)]
            if not is_page_alone:
                write_either(rows_of(incident), lines, json_output=in_json)
        if options.html is not None:
            page = incident_page(shown, whole.lines, clock, options.paths)
            write_text(page) if is_page_alone else _write_page(options, page)
        found = (one.location for group in given.rounds[-1:] for one in group)
        for hint in not_asked_for(found):
            complain(f"what-happened: {hint}")
        return 1 if any(incident.verdict.facts for incident in incidents) else 0


def _write_page(options: WhatHappenedOptions, page: str) -> None:
    assert options.html is not None, "the option was given"
    write_page(options.html, page, "--html")
    if not options.json_output:
        write_line("")
        write_line(options.html)


def newest_rounds(rounds: Sequence[Sequence[Examined]]) -> dict[str | None, int]:
    """The index of the newest round in which each cluster has a directory."""
    return {cluster_id_of(one): index for index, group in enumerate(rounds) for one in group}


def incidents_of(
    given: GivenRounds, newest: Mapping[str | None, int], progress: ProgressLine
) -> Iterator[Incident]:
    """What happened to each cluster of `newest`, which has the index of its newest round. Only the
    captures of this round decide the verdict, as in `check`. They are judged together with the
    captures of other clusters, because a disk may be another cluster's."""
    branches = {one.cluster_id: one for one in branches_of(given.rounds, given.formatted)}
    for cluster, verdict in newest_verdicts(given, newest, progress):
        yield incident_of(cluster, verdict, branches.get(cluster.cluster_id), progress)


def newest_verdicts(
    given: GivenRounds, newest: Mapping[str | None, int], progress: ProgressLine
) -> Iterator[tuple[JudgedCluster, Verdict]]:
    """Each cluster of `newest` as its newest round shows it, with the verdict on it."""
    for index in sorted(set(newest.values())):
        judged = judged_clusters(
            given.rounds[index],
            given.unread,
            progress.show,
            earlier=earlier_rounds(given.rounds[:index]),
            formatted=given.formatted,
        )
        for cluster, verdict in judged:
            if newest.get(cluster.cluster_id) == index:
                yield cluster, verdict


def incident_of(
    cluster: JudgedCluster, verdict: Verdict, branch: Branch | None, progress: ProgressLine
) -> Incident:
    """What happened to a cluster. branch: None where the cluster's logs hold no record."""
    nodes = nodes_of_cluster(cluster)
    behind = tuple(
        (cluster.name_of(member), one)
        for member, one in zip(cluster.members, cluster.behind, strict=True)
        if one is not None and one.records
    )
    if branch is None:
        return Incident(verdict, nodes=nodes, behind=behind)
    told = timeline(branch, progress.show)
    gaps = (*gaps_of(branch, told.unknown), *brokers_not_given(cluster))
    stop = None if cluster.cluster is None else _stop(cluster.cluster)
    gave_up = None if cluster.cluster is None else _gave_up(cluster.cluster)
    outages = () if cluster.outages is None else cluster.outages.without_leader
    seen = tuple(one for one in outages if one.began is not BEFORE)
    return Incident(
        verdict, decisive(told.events), seen, stop, gave_up, gaps, nodes, behind,
        told.asked_for, told.recent,
        {} if cluster.cluster is None else cluster.cluster.values("topics"), cluster.refusals,
        min((one.start for one in branch.tails if one.is_contested), default=None),
    )  # fmt: skip


def _stop(cluster: Cluster) -> MajorityStop | None:
    at, offset, voters = cluster.uncommitted_at, cluster.uncommitted_from, cluster.stopped_together
    if at is None or offset is None or not voters:
        return None
    return MajorityStop(at, offset, tuple(sorted(voters)))


def _gave_up(cluster: Cluster) -> LeaderGaveUp | None:
    quorum = cluster.quorum
    if quorum is None or quorum.gave_up is None or cluster.now is None:
        return None
    return LeaderGaveUp(cluster.now, quorum.gave_up.node_id)


def describe(incident: Incident, clock: ZonedClock) -> Iterator[str]:
    """The verdict with its first step, the story of the incident, and then all the rest: what
    else is wrong, more events, the steps, and what isn't known, as lines."""
    told = incident_events(incident, clock)
    few = decisive_few(told)
    story = [heading(incident, told), *story_lines(few, clock)]
    yield from describe_verdict(incident.verdict, form=ON_PAGE, story=story)
    yield from (labelled(label, text) for label, text in incident.beside(clock))
    whole = [f"  {clock.words(one.at)}  {one_line(one.text)}" for one in told]
    if whole != story[1:]:
        yield ""
        yield "Events:"
        shown = gravest(told, MAX_EVENTS)
        if len(told) > MAX_EVENTS:
            left_out = len(told) - MAX_EVENTS
            events = counted(left_out, "less grave or older event")
            are = "is" if left_out == 1 else "are"
            yield f"  {events} {are} left out: `kraftlake timeline` lists all"
        yield from (f"  {clock.words(one.at)}  {one_line(one.text)}" for one in shown)
    steps = incident.verdict.next_steps[:MAX_STEPS]
    if steps:
        yield ""
        yield "What to do:"
        for number, step in enumerate(steps, start=1):
            yield f"  {number}. {one_line(step)}"
    if incident.gaps:
        yield ""
        yield "What is not known:"
        yield from (f"  {one_line(gap)}" for gap in incident.gaps)


def heading(incident: Incident, told: Sequence[IncidentEvent]) -> str:
    """The line above the story; the only line where no event is known."""
    led = " that led to it" * bool(incident.verdict.facts)
    if not told:
        return f"What happened: these logs show no event{led}."
    if led and len(told) == len(incident.recent):
        return f"What happened: these logs show no event{led}, but late changes:"
    return "What happened:"


def rows_of(incident: Incident) -> Iterator[dict[str, Any]]:
    """The rows of `kraftlake what-happened --json` about an incident."""
    yield verdict_row(incident.verdict)
    for event in (*incident.events, *incident.recent):
        yield {"kind": "event", **dict(zip(COLUMNS, event.shown, strict=True))}
    outages = [
        *(("outage", one) for one in incident.outages),
        *(("refused", one.outage) for one in incident.refusing),
    ]
    for kind, outage in outages:
        yield {
            "kind": kind,
            "cluster_id": incident.verdict.cluster_id,
            "began": outage.began.at,
            "ended": None if outage.ended is None else outage.ended.at,
            "most": outage.most,
        }
    if (stop := incident.stop) is not None:
        yield {
            "kind": "majority_stopped",
            "cluster_id": incident.verdict.cluster_id,
            "at": stop.at,
            "offset": stop.offset,
            "voters": list(stop.voters),
        }
    if (gave_up := incident.gave_up) is not None:
        yield {
            "kind": "leader_gave_up",
            "cluster_id": incident.verdict.cluster_id,
            "at": gave_up.at,
            "node_id": gave_up.node_id,
        }
    if incident.end_ms is not None:
        yield {
            "kind": "changes",
            "cluster_id": incident.verdict.cluster_id,
            "until": incident.end_ms,
            "last_hour": dict(incident.asked_for.since(incident.end_ms - HOUR_MS)),
            "last_day": dict(incident.asked_for.since(incident.end_ms - DAY_MS)),
        }
    for gap in incident.gaps:
        yield {"kind": "gap", "cluster_id": incident.verdict.cluster_id, "detail": gap}
