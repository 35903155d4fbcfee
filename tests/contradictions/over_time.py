"""Rules about several captures of a cluster: which records are gone, and which disk went back."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from replica.doctor.check.catalogue import groups
from replica.doctor.timeline.events import TRUNCATION, WENT_BACK
from replica.history.commitment import acknowledged
from replica.history.log import OffsetRange, ReplicaLog, contiguous_runs
from replica.history.ranges import Ranges, difference, intersection, union
from replica.model.keys import ReplicaKey
from tests.contradictions.answers import Answers, Rule


def truncations_are_what_vanished(answers: Answers) -> Iterator[str]:
    """gold.truncations has exactly the synced entries that a replica held, and that a later capture
    of it lacks. The capture must have files of these offsets, and no damage that may hide them.
    Entries after a run of zeros were never synced."""
    if answers.in_lake is None or not answers.earlier:
        return
    gone = _gone(answers, synced=True)
    told: dict[ReplicaKey, Ranges] = {}
    for row in answers.rows("gold.truncations"):
        key = ReplicaKey(row["node_id"], row["directory_id"])
        run = (OffsetRange(row["from_offset"], row["to_offset"]),)
        told[key] = union(told.get(key, ()), run)
    for key in gone.keys() | told.keys():
        if gone.get(key, ()) != told.get(key, ()):
            yield f"{key}: gone is {gone.get(key, ())}, in the table {told.get(key, ())}"


def truncations_of_timeline_are_what_vanished(answers: Answers) -> Iterator[str]:
    """The timeline names a truncation only where a replica lost entries from one capture to the
    next."""
    gone = {key.node_id: ranges for key, ranges in _gone(answers).items()}
    for event in answers.events:
        if event.event == TRUNCATION:
            (node_id,) = event.nodes
            held = any(one.start <= event.offset < one.end for one in gone.get(node_id, ()))
            if not held:
                yield f"{event.detail}, node {node_id} lost {gone.get(node_id, ())}"


def a_disk_that_went_back_is_named(answers: Answers) -> Iterator[str]:
    """No majority may count a voter with an older disk. check says why, and timeline says when."""
    back = answers.given.went_back
    if back is None or not answers.earlier or answers.plan.voters is None:
        return
    own = next(log for log in answers.group.logs if log.key.node_id == back)
    before = next((logs[own.key] for logs in answers.earlier[::-1] if own.key in logs), own)
    fell = before.known_epoch is not None and before.known_epoch > (own.known_epoch or 0)
    if not fell or not any(voter.matches(own.key) for voter in answers.plan.voters):
        return
    what = f"the disk of node {back} went back from {before.position()} to {own.position()}"
    if groups.REPLICA_WENT_BACK.id not in answers.between:
        yield f"{what}, check doesn't say so"
    if not any(voter.matches(own.key) for voter in answers.plan.missing):
        yield f"{what}, recover counts it"
    if not any(one.event == WENT_BACK and back in one.nodes for one in answers.events):
        yield f"{what}, timeline doesn't say so"


def only_a_disk_that_went_back_is_named(answers: Answers) -> Iterator[str]:
    """recover leaves out as gone back only a voter whose disk went back. Any other voter may be
    needed for the majority."""
    back = answers.given.went_back
    if not answers.earlier:
        return
    for voter in answers.plan.quorum.voters:
        if voter.went_back is not None and voter.key.node_id != back:
            yield f"node {voter.key.node_id} is said to have gone back: {voter.went_back}"


OVER_TIME: tuple[Rule, ...] = (
    a_disk_that_went_back_is_named,
    only_a_disk_that_went_back_is_named,
    truncations_are_what_vanished,
    truncations_of_timeline_are_what_vanished,
)


def _gone(answers: Answers, *, synced: bool = False) -> dict[ReplicaKey, Ranges]:
    """The offsets of entries that each replica lost from a capture to the next. synced: only
    entries that the replica may have synced."""
    found: dict[ReplicaKey, Ranges] = {}
    looks = (*answers.earlier, {log.key: log for log in answers.group.logs})
    for (before, after), hidden in zip(itertools.pairwise(looks), answers.hidden[1:], strict=True):
        for key in before.keys() & after.keys():
            lost = difference(_lost(before[key], after[key]), hidden[key])
            lost = acknowledged(before[key], lost) if synced else lost
            found[key] = union(found.get(key, ()), lost)
    return {key: ranges for key, ranges in found.items() if ranges}


def _lost(before: ReplicaLog, after: ReplicaLog) -> Ranges:
    kept = set(after.batches)
    lost = contiguous_runs(one for one in before.batches if one not in kept)
    shown = min(after.log_start, after.first_offset)
    return intersection(lost, (OffsetRange(shown, before.end_offset),))
