"""The entities of a cluster's state at a moment, from a lake or from directories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from jobs.cli.asking.about import AskedCluster
from jobs.cli.directories.given_rounds import branches_in
from jobs.cli.moments import Moment
from jobs.cli.output import ProgressLine, complain, ms_of, ms_text, time_text
from replica.doctor.quorum.conditions import unproven_changes
from replica.doctor.timeline.branch import Branch
from replica.doctor.timeline.changes import LoggedChange, UnknownOffsets
from replica.doctor.timeline.gaps import (
    conflict_text,
    not_replayed,
    offsets_text,
    passed_over_text,
    times_that_go_back,
    voters_not_given,
)
from replica.doctor.timeline.state import StateEntity, end_at, last_time, state_at
from replica.errors import UsageError
from replica.metadata.redact import Redactor
from replica.words import named, up_to

if TYPE_CHECKING:
    from jobs.cli.asking.lake_history import ClusterHistory


def entities_at(
    asked: AskedCluster,
    redactor: Redactor | None,
    take: Callable[[LoggedChange], None] | None = None,
) -> tuple[int, Iterable[StateEntity]]:
    """(the end offset of the moment, the entities of the state there). Raises UsageError for a
    moment whose state isn't known. redactor: removes the secrets from the state of directories; a
    lake's secrets are hidden already. take: gets each change that led to the state; only
    directories have such changes."""
    if asked.lake is None:
        return _of_directories(asked, redactor, take)
    history = history_of(asked)
    end_offset = history.end_offset(asked.moment)
    passed_over = history.passed_over()
    notices = [passed_over_text(passed_over)] if passed_over else []
    for told in (*notices, *history.other_histories(end_offset)):
        complain(f"state: {told}")
    columns = "entity, key, name, value, record_offset, valid_from"
    return end_offset, (
        StateEntity(entity, key, name, value, offset, None if at is None else ms_of(at))
        for entity, key, name, value, offset, at in history.entities(end_offset, columns)
    )


def history_of(asked: AskedCluster) -> ClusterHistory:
    """The cluster in its lake. Raises UsageError where the lake is not built, or lacks the
    cluster."""
    from jobs.cli.asking.lake_history import cluster_history  # directories need no delta-rs

    assert asked.lake is not None, "directories have no history"
    return cluster_history(asked.lake, asked.cluster, committed_only=asked.committed_only)


def _of_directories(
    asked: AskedCluster,
    redactor: Redactor | None,
    take: Callable[[LoggedChange], None] | None,
) -> tuple[int, list[StateEntity]]:
    """(the end offset of the moment, the state there). Raises UsageError for a moment whose state
    the directories don't give."""
    progress = ProgressLine()
    directories = branches_in(
        asked.paths, asked.order, asked.cluster, progress, passed_over=asked.passed_over
    )
    with directories as branches:
        if len(branches) > 1:
            names = " or ".join(str(one.cluster_id) for one in branches)
            raise UsageError(f"the directories are of several clusters: --cluster {names}")
        (branch,) = branches
        proven_end = branch.proven_end if asked.committed_only else None
        end_offset = _end(branch, asked.moment, proven_end)
        gaps = [
            *voters_not_given(branch),
            *not_replayed(branch),
            *other_histories(branch, end_offset),
            *(times_that_go_back(branch) if asked.moment.at_time is not None else ()),
            *_not_proven(branch, end_offset),
        ]
        held = state_at(branch, end_offset, redactor, progress.show, take)
    if held is None:
        raise UsageError(
            f"the state {up_to(end_offset)}: the directories hold neither the whole log nor a "
            "snapshot to begin with; name more of them"
        )
    if isinstance(held, UnknownOffsets):
        raise UsageError(
            f"the state {up_to(end_offset)} is not known. Nothing is known of "
            f"{offsets_text(held)}: {held.why}"
        )
    for gap in gaps:  # beside an error these lines would hide the line that counts
        complain(f"state: {gap}")
    return end_offset, held


def other_histories(branch: Branch, end: int) -> Iterator[str]:
    """A sentence for each history that conflicts with the branch's history below
    the offset `end`."""
    own = {one.node_id for piece in branch.pieces if (one := piece.examined.replica) is not None}
    for tail in branch.tails:
        if not tail.is_contested or tail.start >= end:
            continue
        whose = named("node", [str(node_id) for node_id in sorted(own)])
        other = min(one.shown for one in tail.holders)
        yield f"{conflict_text(tail.start, whose)}. To see the other, name {other} alone"


def _not_proven(branch: Branch, end: int) -> Iterator[str]:
    """A sentence about the changes below the offset `end` that are not proven to be committed; none
    where all changes are."""
    from replica.doctor.health.of_directories import first_change  # loads the rules of health

    changes = (
        first_change(piece.examined, max(piece.start, branch.proven_end), min(piece.end, end))
        for piece in branch.pieces
    )
    start = next((offset for offset in changes if offset is not None), None)
    if start is not None:
        without = " (--committed-only leaves them out)" if branch.proven_end else ""
        yield (
            f"{unproven_changes(start, branch.proven_end)} are not proven to be committed by these "
            f"directories: the quorum may not keep them{without}"
        )


def _end(branch: Branch, moment: Moment, proven_end: int | None) -> int:
    """The moment as an end offset (exclusive). proven_end: the end of what is proven committed;
    None where unproven records count too. Raises UsageError for a moment outside of the log."""
    log_end = branch.log.end_offset if proven_end is None else proven_end
    if moment.at_offset is not None and moment.at_offset > log_end:
        raise UsageError(f"--at-offset {moment.at_offset}: the log end offset is {log_end}")
    if moment.at_time is None:
        return log_end if moment.at_offset is None else moment.at_offset
    asked, last = time_text(moment.at_time), last_time(branch)
    at = ms_of(moment.at_time)
    if at > last:
        raise UsageError(f"--at-time {asked}: the log goes {up_to(log_end)}, {ms_text(last)}")
    found = end_at(branch, at)
    if found is None:
        raise UsageError(f"--at-time {asked}: the log begins later")
    return min(found, log_end)
