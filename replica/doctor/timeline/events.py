"""Lists the events of a cluster by clock time, for a person who investigates an incident.

Events are elections, snapshots, divergences, truncations, disks that went back, and changes of
voters, controllers, brokers, features and partitions. The names of changes are those of
replica.metadata.changes.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from replica.doctor.check.known_quorum import each_round, known_quorum_of
from replica.doctor.check.replay_fold import Watch
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.quorum.went_back import WentBack
from replica.doctor.timeline.asked_for import HOUR_MS, AskedForChanges
from replica.doctor.timeline.branch import Branch, BranchTail
from replica.doctor.timeline.causes import Registration
from replica.doctor.timeline.changes import ChangeWalk, LoggedChange, UnknownOffsets
from replica.doctor.timeline.details import (
    OF_DIRECTORIES,
    detail_of,
    detail_of_config,
)
from replica.doctor.timeline.elections import Election, elections_of
from replica.doctor.timeline.event import Event
from replica.doctor.timeline.fencings import Fencings
from replica.doctor.timeline.holders import Holders
from replica.doctor.timeline.latest_changes import ChangeGroup, LatestChanges
from replica.doctor.timeline.leaders_lost import LeadersLost
from replica.doctor.timeline.partition_events import (
    NEW_DIRECTORY,
    UNCLEAN,
    PartitionEvent,
    PartitionEvents,
)
from replica.doctor.timeline.reassignments import REPLICAS, Reassigned, Reassignments
from replica.doctor.timeline.state import last_time
from replica.doctor.timeline.tails import (
    DIVERGENCE,
    HISTORIES_PART,
    TRUNCATION,
    node_of,
    nodes_of,
    nodes_text,
    of_tail,
)
from replica.doctor.timeline.unwon import unwon_elections
from replica.format.control import SnapshotHeader
from replica.history.ranges import END_OF_OFFSETS
from replica.metadata.changes.brokers_seen import is_new_process
from replica.metadata.image.settings import NO_MIGRATION
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.words import up_to

ELECTION, SNAPSHOT = "election", "snapshot"
WENT_BACK, UNWON = "went_back", "elections_without_winner"
OF_CHANGES = (
    "voters_changed", "kraft_version_changed",
    "controller_registered", "controller_unregistered",
    "broker_registered", "broker_unregistered", "broker_fenced", "broker_unfenced",
    "broker_shutdown_started", "broker_directories_changed",
    "broker_cordoned_directories_changed", "metadata_version_changed", "feature_level_changed",
    "feature_removed", "zk_migration_state_changed",
)  # fmt: skip
"""The changes that are events."""
OF_HISTORY = (
    "topic_created", "topic_recreated", "topic_renamed", "topic_deleted",
    "config_set", "config_removed", "acl_created", "acl_changed", "acl_deleted",
    "scram_credential_set", "scram_credential_removed", "quota_set", "quota_removed",
)  # fmt: skip
"""The changes that people ask for. There may be very many, so they are always counted, and are
events only on request."""
OF_PARTITIONS = (UNCLEAN, NEW_DIRECTORY, REPLICAS)
"""The events of partitions. Partitions with the same event and time share one event. Partitions of
one topic whose replicas changed within an hour share one event, too."""
EVENTS = (
    ELECTION, UNWON, SNAPSHOT, DIVERGENCE, HISTORIES_PART, TRUNCATION, WENT_BACK,
    *OF_CHANGES, *OF_PARTITIONS, *OF_HISTORY,
)  # fmt: skip
_OF_CONFIGS = ("config_set", "config_removed")
_OLDEST = 0
"""The time (ms since 1970) that stands for the time of changes with which a cluster was formatted,
so that they don't count as recent changes."""


class Timeline(NamedTuple):
    """The events of a branch."""

    events: tuple[Event, ...]
    """The events in the order of their times. Events of the same time, and events where the log's
    times go back, are in the order of their offsets."""
    unknown: tuple[UnknownOffsets, ...]
    """The offsets of the branch whose changes are not known."""
    asked_for: AskedForChanges
    """The branch's changes of OF_HISTORY and REPLICAS, counted."""
    recent: tuple[Event, ...]
    """The changes of OF_HISTORY and of replicas in the hour before the branch's last record, in the
    order of their offsets. If there are too many, the latest are kept, and deletions rather than
    other changes."""


def timeline(branch: Branch, watch: Watch | None = None, also: Collection[str] = ()) -> Timeline:
    """All events. No field holds a secret. watch: receives the progress. also: the types of
    change in OF_HISTORY that the caller wants as events."""
    walk, asked_for = ChangeWalk(branch, None, watch), AskedForChanges()
    parted = min((one.start for one in branch.tails if one.is_contested), default=END_OF_OFFSETS)
    before, after, beside_it, born = LatestChanges(), LatestChanges(), LatestChanges(), None
    changes, of_partitions, fencings = [], PartitionEvents(), Fencings(branch.members)
    of_replicas, lost = Reassignments(), LeadersLost()
    for change in walk.changes():
        fencings.take(change)
        lost.take(change)
        what = change.named.change.change
        if what in also or (what in OF_CHANGES and not _is_first_of_nothing(change)):
            changes.append(change)
        if what == "metadata_version_changed" and change.named.change.old is None:
            born = change.at
        if what in OF_HISTORY and (change.tail is None or change.tail.is_contested):
            is_of_bootstrap = change.at == born
            asked_for.take(what, _OLDEST if is_of_bootstrap else change.at)
            if not is_of_bootstrap:
                own = before if change.offset < parted else after
                (own if change.tail is None else beside_it).take(change)
        of_partitions.take(change)
        if of_replicas.take(change) and change.tail is None:
            asked_for.take(REPLICAS, change.at)
    holders, cluster_id = Holders.of(branch), branch.cluster_id
    of_some: list[PartitionEvent | Reassigned] = [*of_partitions.events(), *of_replicas.events()]
    placed = [
        *(
            _with_lost(_of_change(cluster_id, one, holders, fencings), lost.text(one))
            for one in changes
        ),
        *(_of_partitions(cluster_id, one, holders) for one in of_some),
        *(_of_election(branch, one) for one in elections_of(branch, _registrations(changes))),
    ]
    beside = [
        *(event for event in placed if event.parted is not None),
        *_snapshots(branch),
        *(event for tail in branch.tails for event in of_tail(branch, tail, holders)),
        *_went_back(branch),
        *_unwon(branch),
    ]
    logged = [event for event in placed if event.parted is None]
    since = last_time(branch) - HOUR_MS
    recent = [
        *(
            _of_group(cluster_id, one, holders, fencings)
            for latest in (before, after, beside_it)
            for one in latest.since(since)
        ),
        *(_of_partitions(cluster_id, one, holders) for one in of_replicas.latest(since)),
    ]
    recent.sort(key=lambda one: one.offset)
    return Timeline(_ordered(logged, beside), tuple(walk.unknown), asked_for, (*recent,))


def _is_first_of_nothing(change: LoggedChange) -> bool:
    """Whether a record is the first of its kind and has an empty value: no cordoned directory, or
    no migration from ZooKeeper."""
    _, _, (what, old, new) = change.named
    if what == "zk_migration_state_changed":
        return old is None and new is not None and json.loads(new) == NO_MIGRATION
    return what in OF_DIRECTORIES and not any(one and json.loads(one) for one in (old, new))


def _ordered(logged: Sequence[Event], beside: Sequence[Event]) -> tuple[Event, ...]:
    """The events by clock time. Events of the log stay in the order of their offsets, also if a
    clock was set back. logged: the events of the branch's records. beside: all other events."""
    times = sorted((event.offset, event.at) for event in logged)
    offsets = [offset for offset, _ in times]
    newest = list(accumulate((at for _, at in times), max))

    def place(event: Event) -> tuple[int, int, int]:
        # of the branch's records a log that left it has only those below
        before = bisect_left(offsets, event.offset if event.parted is None else event.parted)
        at = max(event.at, newest[before - 1]) if before else event.at
        return at, event.offset, event.leader_epoch

    return tuple(sorted((*logged, *beside), key=place))


def _registrations(changes: Iterable[LoggedChange]) -> list[Registration]:
    """The registrations of controllers that were registered already."""
    return [
        Registration(
            one.at, one.named.write.key, is_new_process(*map(json.loads, (old, new))), one.tail
        )
        for one in changes
        if one.named.change.change == "controller_registered"
        and (old := one.named.change.old) is not None
        and (new := one.named.change.new) is not None
    ]


def _of_change(
    cluster_id: str | None, change: LoggedChange, holders: Holders, fencings: Fencings
) -> Event:
    _, name, (what, old, new) = change.named
    values = [None if text is None else json.loads(text) for text in (old, new)]
    came = None
    nodes = holders.nodes(change.offset, change.leader_epoch, change.tail)
    if what in _OF_CONFIGS:
        detail = detail_of_config(change.named.write.key[-1], *values)
    elif what in OF_HISTORY:
        detail = ""
    else:
        detail, came = fencings.detail(change)
        detail = detail or detail_of(what, *values)
    return Event(
        cluster_id, change.at, what, name, detail, None,
        change.offset, change.leader_epoch, nodes, change.commitment, came, _start(change.tail),
    )  # fmt: skip


def _with_lost(event: Event, lost: str) -> Event:
    """An event of a broker with the partitions that lost their leader. A lost directory, the cause,
    comes first. lost: "" where no partition did."""
    told = [event.detail, lost] if event.event in OF_DIRECTORIES else [lost, event.detail]
    return event._replace(detail="; ".join(filter(None, told))) if lost else event


def _start(tail: BranchTail | None) -> int | None:
    return None if tail is None else tail.start


def _of_group(
    cluster_id: str | None, group: ChangeGroup, holders: Holders, fencings: Fencings
) -> Event:
    """The event of a group of changes. The values of several configs don't fit in it."""
    event = _of_change(cluster_id, group.first, holders, fencings)
    if len(group.names) == 1:
        return event
    span = f"within {group.span_ms / 1000:.1f} s" if group.span_ms else ""
    return event._replace(name=group.name, detail=span)


def _of_partitions(
    cluster_id: str | None, found: PartitionEvent | Reassigned, holders: Holders
) -> Event:
    return Event(
        cluster_id, found.at, found.event, found.name, found.detail, None,
        found.offset, found.leader_epoch,
        holders.nodes(found.offset, found.leader_epoch, found.tail), found.commitment,
        parted=_start(found.tail),
    )  # fmt: skip


def _of_election(branch: Branch, one: Election) -> Event:
    won = one.won
    votes = f", by the votes of {nodes_text(won.granting)}" if won.granting else ""
    after = f" after node {one.former}" if one.former not in (None, won.leader) else ""
    first, last = won.epoch - one.without_winner, won.epoch - 1
    epochs = f"epoch {last}" if first == last else f"epochs {first} to {last}"
    # a candidate may have won all the same: a leader writes quorum-state first, then its record
    lacking = f"; these logs name no leader of {epochs}" if one.without_winner else ""
    detail = f"leads epoch {won.epoch}{after}{votes}: {one.because}{lacking}"
    tail = None if one.on_branch else branch.tail_with(won.offset, won.epoch, won.digest)
    commitment = branch.commitment(won.offset, tail)
    parted = None if one.on_branch else won.offset if tail is None else tail.start
    return Event(
        branch.cluster_id, won.at, ELECTION, f"node {won.leader}", detail, one.cause.value,
        won.offset, won.epoch, one.nodes, commitment, parted=parted,
    )  # fmt: skip


def _snapshots(branch: Branch) -> Iterator[Event]:
    """An event for each snapshot id. Its time is the first time at which a replica wrote the
    snapshot."""
    found: dict[OffsetAndEpoch, list[tuple[int, int | None, int]]] = {}
    for examined in branch.members:
        for snapshot_id, snapshot in examined.usable_snapshots:
            if snapshot_id == BOOTSTRAP_SNAPSHOT:
                continue
            for _, record, message in examined.control_records(snapshot):
                if isinstance(message, SnapshotHeader):
                    written = (
                        record.timestamp,
                        node_of(examined),
                        message.last_contained_log_timestamp,
                    )
                    found.setdefault(snapshot_id, []).append(written)
                    break
    for snapshot_id, times in found.items():
        offset, epoch = snapshot_id.offset, snapshot_id.epoch
        at, _, contained = min(times, key=lambda one: one[0])
        nodes = nodes_of(node for _, node, _ in times)
        behind = f", {(at - contained) / 1000:.1f} s old" if at > contained else ""
        detail = f"the state {up_to(offset)}{behind}"
        name = f"{offset}-{epoch}"
        yield Event(branch.cluster_id, at, SNAPSHOT, name, detail, None, offset, epoch, nodes, None)


def _went_back(branch: Branch) -> Iterator[Event]:
    """An event for each voter whose disk went back between two rounds
    (replica.doctor.quorum.went_back). Its time is that of the last batch that the voter held in the
    earlier round, because no file has the time at which a disk went back."""
    if len(branch.rounds) < 2:
        return
    seen: set[tuple[ReplicaKey, int]] = set()
    for _, compared in each_round(branch.rounds):
        for voter in known_quorum_of(compared).in_doubt(VoterDoubt.STALE):
            one = voter.went_back
            if one is None or (one.key, one.end_before) in seen:
                continue
            seen.add((one.key, one.end_before))
            node_id, offset = one.key.node_id, one.lost[0].start if one.lost else one.end
            at, epoch = _last_before(branch, one)
            detail = (
                f"has older files than before ({one}): it was restored from an older copy, or lost "
                "what it had written"
            )
            yield Event(
                branch.cluster_id, at, WENT_BACK, f"node {node_id}", detail, None,
                offset, epoch, (node_id,), branch.commitment(offset),
            )  # fmt: skip


def _unwon(branch: Branch) -> Iterator[Event]:
    """An event for the elections that nobody won since the branch's last record. Its time is that
    of this record."""
    if (one := unwon_elections(branch)) is not None:
        yield Event(
            branch.cluster_id, one.at, UNWON, one.name, one.detail, None,
            one.offset, one.epoch, one.nodes, None,
        )  # fmt: skip


def _last_before(branch: Branch, one: WentBack) -> tuple[int, int]:
    """(time in ms since 1970, epoch) of the last batch that a replica held before it went back; of
    the newest batch in any log if the replica held only snapshots."""
    headers = [
        (examined.replica is not None and examined.replica.key == one.key, last.header)
        for examined in branch.members
        if (last := examined.last_batch) is not None
    ]
    own = [header for is_own, header in headers if is_own and header.next_offset <= one.end_before]
    last_held = max(own or [header for _, header in headers], key=lambda each: each.next_offset)
    return last_held.max_timestamp, last_held.leader_epoch
