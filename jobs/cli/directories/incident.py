"""An incident: a cluster's verdict and what led to it, with its events in their order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from jobs.cli.clock import ZonedClock
from jobs.cli.directories.folded_events import folded, line_of, short_text_of, text_of
from replica.doctor.health.cluster import PartitionKey
from replica.doctor.health.leaderless import Outage
from replica.doctor.health.refusals import Refusal
from replica.doctor.health.signs_of_life import FENCED_LATER
from replica.doctor.quorum.log_ends import Behind
from replica.doctor.timeline.asked_for import AskedForChanges
from replica.doctor.timeline.decisive import (
    FENCED,
    MAY_LOSE_RECORDS,
    REGISTERED,
    UNFENCED,
    has_other_directories,
)
from replica.doctor.timeline.details import NOW_WITH
from replica.doctor.timeline.event import Came, Event
from replica.doctor.timeline.events import OF_HISTORY, UNWON
from replica.doctor.timeline.latest_changes import ACCESS_REMOVED, TOPIC_REPLACED
from replica.doctor.timeline.partition_events import UNCLEAN
from replica.doctor.timeline.reassignments import REPLICAS
from replica.doctor.timeline.tails import HISTORIES_PART
from replica.doctor.verdict.refused_writes import (
    refused_step,
    refused_text,
    time_shown,
    who_refused,
)
from replica.doctor.verdict.verdict import Verdict
from replica.shell_text import line
from replica.words import counted, listed, named, shortened

_MAX_BEHIND, _MAX_NAMED, _MAX_UNCLEAN = 5, 3, 2
TAKEN_AWAY = frozenset({*TOPIC_REPLACED, *ACCESS_REMOVED})
"""The changes that people asked for, and that users notice."""
_GRAVE = frozenset({*MAY_LOSE_RECORDS, UNWON, "topic_deleted"})
_CREATIONS = frozenset({"topic_created", "acl_created", REPLICAS})
_LIGHT = frozenset(
    {*REGISTERED, UNFENCED, REPLICAS, *(one for one in OF_HISTORY if one not in TAKEN_AWAY)}
)


class Weight(IntEnum):
    """How grave an event is. A page with too many events leaves out the light ones first."""

    GRAVE = 0
    """Records may be lost, or users notice the event."""
    USUAL = 1
    LIGHT = 2
    """The event is routine, or somebody asked for it."""


class LeaderGaveUp(NamedTuple):
    """The quorum's last leader gave up, and no directory names another one."""

    at: int
    """The time of the newest record, in ms since 1970 (UTC)."""
    node_id: int


class MajorityStop(NamedTuple):
    """Voters whose logs end at an offset after which other logs have more records."""

    at: int
    """The time of the first change that the voters lack, in ms since 1970 (UTC)."""
    offset: int
    """The offset of the first change that the voters lack."""
    voters: tuple[int, ...]
    """The node ids of the voters."""


@dataclass(frozen=True)
class Incident:
    """A cluster's verdict by its newest captures, and the events that led to it."""

    verdict: Verdict
    events: Sequence[Event] = ()
    """The events, the oldest first."""
    outages: Sequence[Outage] = ()
    """The times during which partitions had no leader, the oldest first."""
    stop: MajorityStop | None = None
    """The stop of a majority of the voters; None where no majority stopped."""
    gave_up: LeaderGaveUp | None = None
    """The last leader, if it gave up and no directory names another leader; else None."""
    gaps: tuple[str, ...] = ()
    """A sentence for each fact that the log doesn't show."""
    nodes: tuple[int, ...] = ()
    """The ids of the nodes whose directories were given."""
    behind: tuple[tuple[str, Behind], ...] = ()
    """(name, lag) of each node whose log lacks records of the newest log. A name is such as `node
    2`."""
    asked_for: AskedForChanges = field(default_factory=AskedForChanges)
    """The changes of topics, configs and other entities, counted."""
    recent: Sequence[Event] = ()
    """The latest changes of topics, configs and other entities that may have done harm, the oldest
    first."""

    topics: Mapping[str, str] = field(default_factory=dict)
    """The names of the newest state's topics, by their ids."""
    refusing: Sequence[Refusal] = ()
    """The times during which partitions refused writes with acks=all, the oldest first."""
    parted: int | None = None
    """The offset from which on there are two histories; None where there is only one."""

    def whose(self, event: Event) -> str:
        """The end of a sentence about an event: it names the nodes with the history that has the
        event. "" if there is only one history, or if the event is the divergence itself."""
        if self.parted is None or event.offset < self.parted or event.event == HISTORIES_PART:
            return ""
        return f", in the history of {named('node', [*map(str, event.nodes)])}"

    def may_refuse_by(self, event: Event) -> bool:
        """Whether partitions refuse writes, and this change gave min.insync.replicas another
        value."""
        is_of_isr = event.name.endswith(": min.insync.replicas") and " -> " in event.detail
        return bool(self.refusing) and is_of_isr

    def weight_of(self, event: Event) -> Weight:
        """How grave an event is. What makes partitions refuse writes isn't light. Where there are
        two histories, people ask what happened after they diverged, and which topics each history
        has. So earlier events are light, and changes of topics are not."""
        weight = usual_weight(event)
        if self.may_refuse_by(event):
            return Weight.USUAL
        if self.parted is None or weight is Weight.GRAVE:
            return weight
        if event.offset < self.parted:
            return Weight.LIGHT
        return Weight.USUAL if event.event.startswith("topic_") else weight

    def names_of(self, partitions: Collection[PartitionKey]) -> list[str]:
        """The names of partitions, such as `orders-1`; empty for more than _MAX_NAMED partitions,
        or where the name of a topic is unknown."""
        if len(partitions) > _MAX_NAMED or any(one not in self.topics for one, _ in partitions):
            return []
        found = sorted((self.topics[one], index) for one, index in partitions)
        return [shortened(f"{topic}-{index}") for topic, index in found]

    @property
    def fenced_unasked(self) -> frozenset[int]:
        """The times, in ms since 1970 (UTC), at which the controller fenced brokers that had not
        asked for their shutdown. Such a broker had stopped some time before it was fenced."""
        return frozenset(
            event.at
            for event in self.events
            if event.event == FENCED and event.came is not Came.ASKED
        )

    @property
    def end_ms(self) -> int | None:
        """The time of the newest record of the known state, in ms since 1970; None where no state
        or no time is known."""
        state = self.verdict.state
        return None if state is None else state.at_ms

    def beside(self, clock: ZonedClock) -> Iterator[tuple[str, str]]:
        """(label, text) of the facts besides the verdict that people ask for: which partitions lost
        records by an unclean election, or refused writes, which nodes are behind, and how much was
        changed of late."""
        if unclean := [one for one in self.events if one.event == UNCLEAN]:
            told = [
                f"{clock.words(one.at)}: {one.name} {one.detail}{_if_kept(self.whose(one))}"
                for one in unclean
            ]
            yield "unclean", "; ".join(told[-_MAX_UNCLEAN:]) + _more(len(told) - _MAX_UNCLEAN)
        if refused := refused_text(self.refusing, clock.words):
            yield "refused", refused
            if step := refused_step(self.refusing, clock.words):
                yield "  next", step
        if self.behind:
            behind = [f"{node} by {one.text}" for node, one in self.behind]
            yield "behind", listed(behind, limit=_MAX_BEHIND)
        if self.end_ms is not None:
            recent = listed([*self.asked_for.recently(self.end_ms)])
            events = (
                one for kind in self.asked_for.patterns(self.end_ms) for one in ("--event", kind)
            )
            listing = line("kraftlake", "timeline", *events)
            earlier = self.asked_for.earlier(self.end_ms)
            more = f", and {earlier} more from earlier or from the formatting" if earlier else ""
            lists = f"`{listing}` with the same directories lists them{more}"
            if harmful := _harmful(self.recent):
                said = "; ".join(map(line_of, harmful))
                lists = f"among them {said}; {lists}"
            how = f"{lists}; no log says who made them"
            none = "none of topics, replicas, configs, ACLs or quotas in the log's last 24 hours"
            yield "changes", f"{recent}: {how}" if recent else none


class IncidentEvent(NamedTuple):
    """An event, as the page prints it in one line."""

    at: int
    """The time of the event, in ms since 1970 (UTC)."""
    text: str
    offset: int | None
    """The offset of the event's record; None where no record shows the event."""
    weight: Weight = Weight.GRAVE
    is_placed: bool = False
    """Whether the event comes from the timeline, whose events are in their right order already."""
    parted: int | None = None
    """The offset at which the log with the event's record left the branch; None for a record of the
    branch, and without a record."""
    short: str = ""
    """The text for a line with little room; "" where the beginning of `text` will do."""
    whose: str = ""
    """The end of `text` that says which history has the event; see Incident.whose."""
    change: str = ""
    """The kind of a late change that somebody asked for, such as `config_set`; "" for all other
    events, and for a change by which partitions may refuse writes."""

    @property
    def is_harmless_change(self) -> bool:
        """Whether it is a late change that took nothing away: a new topic, another config."""
        return bool(self.change) and self.change not in TAKEN_AWAY


def gravest(events: Sequence[IncidentEvent], most: int) -> list[IncidentEvent]:
    """At most `most` of the events: the gravest and, of equally grave ones, the newest; in the
    order of `events`."""
    graded = sorted(range(len(events)), key=lambda number: (events[number].weight, -number))
    return [events[number] for number in sorted(graded[:most])]


def _if_kept(whose: str) -> str:
    """The end of a text about an unclean election where there are two histories: the history that
    had it, and the folders in which its lost records may still be. whose: the result of
    Incident.whose; the text is "" where `whose` is."""
    return f"{whose}; folders *-delete or *-stray may still hold records" if whose else ""


def _more(count: int) -> str:
    return f"; {counted(count, 'unclean election')} before" if count > 0 else ""


def _harmful(recent: Sequence[Event]) -> list[Event]:
    """The changes that may be what users notice, at most _MAX_NAMED: first deleted topics and
    access that was taken away, then new values of what existed before; of each the newest first.
    What was created, and the configs that a topic was created with, harm nobody."""
    created = {one.at for one in recent if one.event == "topic_created"}
    found = [
        one
        for one in reversed(recent)
        if one.event not in _CREATIONS and not (one.event == "config_set" and one.at in created)
    ]
    found.sort(key=lambda one: one.event not in TAKEN_AWAY)
    return found[:_MAX_NAMED]


def incident_events(incident: Incident, clock: ZonedClock) -> list[IncidentEvent]:
    """The events of an incident by clock time. Where the times of the log go back, they are in the
    order of offsets, as in `timeline`."""
    events = [*_events(incident, clock)]
    placed = [one for one in events if one.is_placed]
    newest = [*accumulate((one.at for one in placed), max)]
    keys = [(at, 0, number) for number, at in enumerate(newest)]
    for one in events[len(placed) :]:
        before = (
            each.at
            for each in placed
            if (end := one.offset if one.parted is None else one.parted) is not None
            and each.offset is not None
            and each.offset < end
        )
        keys.append((max([one.at, *before]), 1, 0))
    return [one for _, one in sorted(zip(keys, events, strict=True), key=itemgetter(0))]


def _events(incident: Incident, clock: ZonedClock) -> Iterator[IncidentEvent]:
    """The events of an incident. The timeline's events come first, in their order."""
    for events in folded(incident.events):
        at, offset, whose = events[0].at, events[0].offset, incident.whose(events[0])
        yield IncidentEvent(
            at, f"{text_of(events, clock)}{whose}", offset, min(map(incident.weight_of, events)),
            is_placed=True, short=short_text_of(events), whose=whose,
        )  # fmt: skip
    for event in incident.recent:
        whose = incident.whose(event)
        text = f"{text_of([event], clock)} (offset {event.offset}){whose}"
        yield IncidentEvent(
            event.at, text, event.offset, incident.weight_of(event), parted=event.parted,
            whose=whose, change="" if incident.may_refuse_by(event) else event.event,
        )  # fmt: skip
    yield from _of_outages(incident, clock)
    yield from _of_quorum(incident)


def _of_outages(incident: Incident, clock: ZonedClock) -> Iterator[IncidentEvent]:
    unasked = incident.fenced_unasked
    for one in incident.refusing:
        began = one.outage.began
        if began.at is not None:
            who, until = who_refused(one), _until(one.outage, clock)
            text = f"refused: writes with acks=all to {who}, {until}: too few replicas were in sync"
            yield IncidentEvent(began.at, text, began.offset, Weight.USUAL)
    for outage in incident.outages:
        if outage.began.at is None:
            continue
        latest = f" by then at the latest ({FENCED_LATER})" * (outage.began.at in unasked)
        long, short = (
            f"outage: {_of_outage(outage, incident, when, no_leader)}"
            for when, no_leader in (
                (clock.words, f"had no leader{latest}"),
                (partial(_time_of, outage.began.at, clock), "had no leader"),
            )
        )
        yield IncidentEvent(outage.began.at, long, outage.began.offset, short=short)


def _time_of(day: int, clock: ZonedClock, at: int) -> str:
    """A time without its date, if it is on the day of another time."""
    return clock.time(at) if clock.day(at) == clock.day(day) else clock.words(at)


def _of_outage(
    outage: Outage, incident: Incident, when: Callable[[int], str], no_leader: str
) -> str:
    names = incident.names_of(outage.first)
    who = listed(names) if names else counted(outage.at_first, "partition")
    had = [f"{who} {no_leader}"]
    if outage.most > outage.at_first and outage.most_at is not None:
        had.append(f"{outage.most} had none at {when(outage.most_at)}")
    if outage.ended is not None and outage.ended.at is not None:
        had.append(f"all had one again at {when(outage.ended.at)}")
    elif outage.still:
        had.append(_still(outage, incident, is_next=len(had) == 1))
    return listed(had)


def _until(outage: Outage, clock: ZonedClock) -> str:
    if outage.ended is None:
        return f"to {counted(outage.still, 'partition')} still"
    return f"until {time_shown(outage.ended.at, clock.words)}"


def _still(outage: Outage, incident: Incident, *, is_next: bool) -> str:
    """The end of the sentence about an outage, such as `still has none`. is_next: whether the words
    before it are about the partitions that lost their leaders first."""
    has = "has" if outage.still == 1 else "have"
    these = "the first" if outage.at_first == 1 else f"the first {outage.at_first}"
    if outage.lasting == outage.first:
        return f"{'' if is_next else f'{these} '}still {has} none"
    if outage.lasting < outage.first:
        them = "them" if is_next else these
        return f"{outage.still} of {them} still {has} none"
    names = incident.names_of(outage.lasting)
    who = listed(names) if names else f"now {outage.still}"
    return f"{who} {has} none"


def _of_quorum(incident: Incident) -> Iterator[IncidentEvent]:
    if (stop := incident.stop) is not None:
        voters = named("voter", [str(one) for one in stop.voters])
        lacks = f"{voters} had stopped before the change at offset {stop.offset}, which they lack"
        text = f"majority stopped: {lacks}, or were copied before it"
        yield IncidentEvent(stop.at, text, stop.offset)
    if (gave_up := incident.gave_up) is not None:
        node = f"node {gave_up.node_id}"
        text = f"leader gave up: {node} gave up after this, and no directory names a leader since"
        yield IncidentEvent(gave_up.at, text, None)


def usual_weight(event: Event) -> Weight:
    """How grave an event is where there is one history."""
    if event.event in _GRAVE:
        return Weight.GRAVE
    if has_other_directories(event) or (event.event in REGISTERED and NOW_WITH in event.detail):
        return Weight.USUAL
    return Weight.LIGHT if event.event in _LIGHT else Weight.USUAL
