"""Writes sentences about what the directories of a branch don't show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replica.doctor.check.clock_steps import step_text, steps_of
from replica.doctor.check.record_findings import passed_over
from replica.doctor.timeline.branch import Branch
from replica.doctor.timeline.changes import UnknownOffsets
from replica.words import named


def gaps_of(branch: Branch, unknown: Iterable[UnknownOffsets]) -> Iterator[str]:
    """A sentence for each gap: where the log begins, offsets whose changes are not known, voters
    whose directory was not given, and places where times go back. unknown: see ChangeWalk."""
    first = branch.log.first_offset
    unknown = tuple(unknown)
    if first > 0 and not any(one.start == first for one in unknown):
        yield f"the log begins at offset {first}: earlier changes are not known"
    for one in unknown:
        yield f"nothing is known of {offsets_text(one)}: {one.why}"
    yield from voters_not_given(branch)
    yield from not_replayed(branch)
    yield from times_that_go_back(branch)


def times_that_go_back(branch: Branch) -> Iterator[str]:
    """A sentence about the places where the log's times go back, if there are any."""
    steps = list(steps_of(branch.pieces[-1].examined))
    if steps:
        yield f"{step_text(steps)}: the order is that of the offsets there"


def voters_not_given(branch: Branch) -> Iterator[str]:
    """Sentences about the voters whose directory was not given, if there are any."""
    missing = _missing_voters(branch)
    foreign = [str(node) for node in missing if node in branch.elsewhere]
    empty = [str(node) for node in missing if node in branch.without_log - branch.elsewhere]
    absent = [str(node) for node in missing if node not in branch.elsewhere | branch.without_log]
    if absent:
        directory = named("voter", absent)
        yield f"not given: the directory of {directory}, which may hold other or newer records"
    if empty:
        each = "the directory" if len(empty) == 1 else "each directory"
        yield (
            f"{each} that was given for {named('voter', empty)} holds no metadata log: its own "
            "disk may hold other or newer records"
        )
    if foreign:
        each = "the disk" if len(foreign) == 1 else "each disk"
        yield (
            f"{each} that was given for {named('voter', foreign)} is of another cluster: its own "
            "may hold other or newer records"
        )


def not_replayed(branch: Branch) -> Iterator[str]:
    """A sentence about the records that the replay passes over, if there are any."""
    records = passed_over(branch.pieces[-1].examined)
    if records:
        yield passed_over_text(records)


def passed_over_text(records: str) -> str:
    """The sentence about records that a replay passes over. records: a text such as `2 records of
    type 501`."""
    return f"passed over: {records}, which are taken to change none of Kafka's own state"


def conflict_text(start: int, whose: str) -> str:
    """The sentence that logs conflict from an offset on. whose: the nodes whose history is
    shown."""
    return (
        f"the logs conflict from offset {start} on, and nobody knows which history is right: this "
        f"is the history of {whose}"
    )


def offsets_text(unknown: UnknownOffsets) -> str:
    """The first and the last of the offsets (both inclusive) in words."""
    last = unknown.end - 1
    if unknown.start == last:
        return f"offset {last}"
    return f"offsets {unknown.start} to {last}"


def _missing_voters(branch: Branch) -> list[int]:
    """The ids of the voters at the branch's end whose directories were not given."""
    voters = branch.pieces[-1].examined.stated_voters
    given = [one.replica.key for one in branch.members if one.replica is not None]
    missing = {voter.node_id for voter in voters if not any(map(voter.matches, given))}
    return sorted(missing)
