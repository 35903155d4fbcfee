"""`kraftlake what-happened`: the verdict on a cluster, the few events that led to it, and what to
do next, on one page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

from jobs.cli.clock import ZonedClock, clock_of
from jobs.cli.commands.happening import WhatHappenedOptions
from jobs.cli.commands.options import names_in, passed_over_in
from jobs.cli.directories.given_rounds import GivenRounds, check_cluster, rounds_in
from jobs.cli.directories.judged_clusters import judged_clusters
from jobs.cli.directories.partition_folders import not_asked_for
from jobs.cli.directories.several_verdicts import ClusterVerdict, nodes_of_cluster, one_verdict
from jobs.cli.directories.verdict_text import describe_verdict, labelled, verdict_row
from jobs.cli.output import ProgressLine, complain, write_either
from pipelines.cyclic_garbage import no_search_for_cycles
from replica.doctor.check.examined import Examined
from replica.doctor.check.known_quorum import earlier_rounds
from replica.doctor.check.newest import cluster_id_of
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.leaderless import Outage
from replica.doctor.timeline.asked_for import DAY_MS, HOUR_MS, AskedForChanges
from replica.doctor.timeline.branch import Branch, branches_of
from replica.doctor.timeline.decisive import FENCED, decisive
from replica.doctor.timeline.events import Event, timeline
from replica.doctor.timeline.fencings import ASKED
from replica.doctor.timeline.gaps import gaps_of
from replica.doctor.verdict.behind import Behind, behind_of
from replica.doctor.verdict.evidence import NO_LOG, ClusterEvidence
from replica.doctor.verdict.evidence_of_directories import JudgedCluster, node_of, outages_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Verdict
from replica.terminal_text import one_line
from replica.words import counted, listed, named

MAX_EVENTS = 12
"""How many events are told, the newest ones; --json has all."""
MAX_STEPS = 5
MAX_BEHIND = 5


class MajorityStop(NamedTuple):
    """Voters whose logs end where others go on. at: the time of the first change that they lack, ms
    since 1970; offset: its offset. voters: their node ids."""

    at: int
    offset: int
    voters: tuple[int, ...]


@dataclass(frozen=True)
class Incident:
    """A cluster's verdict by its newest captures, and what led to it. events, outages: the oldest
    first. stop: None unless a majority of the voters stopped. gaps: a sentence for each thing that
    the log doesn't tell. nodes: those whose directories were given. behind: the nodes, such as
    `node 2`, whose logs lack records of the newest one. asked_for: the changes of topics, configs
    and so on."""

    verdict: Verdict
    events: Sequence[Event] = ()
    outages: Sequence[Outage] = ()
    stop: MajorityStop | None = None
    gaps: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    behind: tuple[tuple[str, Behind], ...] = ()
    asked_for: AskedForChanges = field(default_factory=AskedForChanges)

    @property
    def end_ms(self) -> int | None:
        """The time of the newest record of the state that is known, in ms since 1970."""
        state = self.verdict.state
        return None if state is None else state.at_ms


def run(options: WhatHappenedOptions) -> int:
    """Print the page of each cluster, the worst first. Returns 1 where something is wrong with one,
    as `check` does, else 0. Raises KraftlakeError."""
    clock = clock_of(options.zone)
    progress, order = ProgressLine(), names_in(options.order)
    in_json = options.json_output
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
        if not newest:  # nothing that was given can be read, or has started
            evidence = ClusterEvidence(gaps=(NO_LOG,)).with_unread(given.unread)
            incidents = [Incident(verdict_on(evidence))]
        incidents.sort(key=lambda one: one.verdict.level.rank)
        whole = one_verdict([ClusterVerdict(one.verdict, one.nodes) for one in incidents])
        for number, (incident, left) in enumerate(zip(incidents, whole.verdicts, strict=True)):
            lines = describe(replace(incident, verdict=left), clock)
            above = [""] if number else whole.lines
            write_either(rows_of(incident), [*above, *lines], json_output=in_json)
        found = (one.location for group in given.rounds[-1:] for one in group)
        for hint in not_asked_for(found):
            complain(f"what-happened: {hint}")
        return 1 if any(incident.verdict.facts for incident in incidents) else 0


def newest_rounds(rounds: Sequence[Sequence[Examined]]) -> dict[str | None, int]:
    """The index of the newest round in which each cluster has a directory."""
    return {cluster_id_of(one): index for index, group in enumerate(rounds) for one in group}


def incidents_of(
    given: GivenRounds, newest: Mapping[str | None, int], progress: ProgressLine
) -> Iterator[Incident]:
    """What happened to each cluster of `newest`, which has the index of its newest round. Only the
    captures of this round decide the verdict, as in `check`: together with those of other clusters,
    because a disk may be another cluster's."""
    branches = {one.cluster_id: one for one in branches_of(given.rounds, given.formatted)}
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
                yield _incident(cluster, verdict, branches.get(cluster.cluster_id), progress)


def _incident(
    cluster: JudgedCluster, verdict: Verdict, branch: Branch | None, progress: ProgressLine
) -> Incident:
    """What happened to a cluster. branch: None where the cluster's logs hold no record."""
    nodes = nodes_of_cluster(cluster)
    behind = tuple(
        (node_of(member), one)
        for member, one in zip(cluster.members, behind_of(cluster), strict=True)
        if one is not None and one.records
    )
    if branch is None:
        return Incident(verdict, nodes=nodes, behind=behind)
    told = timeline(branch, progress.show)
    gaps = tuple(gaps_of(branch, told.unknown))
    stop = None if cluster.cluster is None else _stop(cluster.cluster)
    return Incident(
        verdict, decisive(told.events), outages_of(cluster), stop, gaps, nodes, behind,
        told.asked_for,
    )  # fmt: skip


def _stop(cluster: Cluster) -> MajorityStop | None:
    at, offset, voters = cluster.uncommitted_at, cluster.uncommitted_from, cluster.stopped_together
    if at is None or offset is None or not voters:
        return None
    return MajorityStop(at, offset, tuple(sorted(voters)))


def describe(incident: Incident, clock: ZonedClock) -> Iterator[str]:
    """The verdict, the newest events, the first steps, and what isn't known, as lines."""
    yield from describe_verdict(incident.verdict, on_page=True)
    if incident.behind:
        behind = [f"{node} by {one.text}" for node, one in incident.behind]
        yield labelled("behind", listed(behind, limit=MAX_BEHIND))
    if incident.end_ms is not None:
        recent = listed([*incident.asked_for.recently(incident.end_ms)])
        how = "`kraftlake history` with the same directories lists them"
        none = "none of topics, configs, ACLs or quotas in the last 24 hours before it"
        yield labelled("changes", f"{recent}: {how}" if recent else none)
    told = [*_in_order(_events(incident, clock))]
    if told:
        yield ""
        yield "What happened:"
        if len(told) > MAX_EVENTS:
            yield f"  {len(told) - MAX_EVENTS} earlier events are left out; timeline lists all"
        yield from (f"  {clock.words(at)}  {one_line(text)}" for at, text in told[-MAX_EVENTS:])
    elif incident.verdict.facts:
        yield ""
        yield "What happened:"
        yield "  These logs show no event that led to it."
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


class _Told(NamedTuple):
    """An event, as the page tells it in one line."""

    at: int
    """Its time, in ms since 1970 (UTC)."""
    text: str
    offset: int | None
    """The offset of its record; None where no record tells the event."""
    is_placed: bool = False
    """Whether the event comes from the timeline, and so stands in the right order already."""


def _in_order(events: Iterable[_Told]) -> Iterator[tuple[int, str]]:
    """(time, text) of each event by clock time; where the times of the log go back, in the order of
    its offsets, as `timeline` has them."""
    told = [*events]
    placed = [one for one in told if one.is_placed]
    newest = [*accumulate((one.at for one in placed), max)]
    keys = [(at, 0, number) for number, at in enumerate(newest)]
    for one in told[len(placed) :]:
        before = (
            each.at
            for each in placed
            if one.offset is not None and each.offset is not None and each.offset < one.offset
        )
        keys.append((max([one.at, *before]), 1, 0))
    for _, one in sorted(zip(keys, told, strict=True), key=itemgetter(0)):
        yield one.at, one.text


def _events(incident: Incident, clock: ZonedClock) -> Iterator[_Told]:
    """Those of the timeline first, in its order."""
    for event in incident.events:
        what = event.event.replace("_", " ")
        text = f"{what}: {event.name} {event.detail}".rstrip()
        yield _Told(event.at, text, event.offset, is_placed=True)
    stopped_before = {
        event.at
        for event in incident.events
        if event.event == FENCED and not event.detail.startswith(ASKED)
    }
    for outage in incident.outages:
        if outage.began.at is None:
            continue
        ended = None if outage.ended is None else outage.ended.at
        end = "and some still have none" if ended is None else f"until {clock.words(ended)}"
        had = f"up to {counted(outage.most, 'partition')} had no leader"
        if outage.began.at in stopped_before:
            had += " from here on at the latest (a broker is fenced some time after it stopped)"
        yield _Told(outage.began.at, f"outage: {had}, {end}", outage.began.offset)
    if (stop := incident.stop) is not None:
        voters = named("voter", [str(one) for one in stop.voters])
        lacks = f"{voters} had stopped before the change at offset {stop.offset}, which they lack"
        text = f"majority stopped: {lacks}, or were copied before it"
        yield _Told(stop.at, text, stop.offset)


def rows_of(incident: Incident) -> Iterator[dict[str, Any]]:
    """The rows of --json."""
    yield verdict_row(incident.verdict)
    for event in incident.events:
        yield {"kind": "event", **event._asdict()}
    for outage in incident.outages:
        yield {
            "kind": "outage",
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
