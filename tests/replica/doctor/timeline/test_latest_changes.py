"""The page of an incident names some of the latest changes of topics and configs: tests which."""

from __future__ import annotations

from replica.doctor.timeline.changes import LoggedChange
from replica.doctor.timeline.latest_changes import MOST, ChangeGroup, LatestChanges
from replica.metadata.changes.named_changes import NamedChange
from replica.metadata.changes.typed import Change
from replica.metadata.image.image import KIND_OF
from replica.metadata.image.versions import Write


def change(second: int, what: str, name: str) -> LoggedChange:
    kind = KIND_OF[what.partition("_")[0]]
    write = Write(kind, name, None, None, second, "")
    return LoggedChange(
        1000 * second, 1, "proven", NamedChange(write, name, Change(what, None, None))
    )


def kept(*changes: LoggedChange, at: int = 0) -> list[ChangeGroup]:
    latest = LatestChanges()
    for one in changes:
        latest.take(one)
    return [*latest.since(at)]


def test_of_many_changes_deletions_and_then_the_newest_are_told() -> None:
    deleted = change(0, "topic_deleted", "gone")
    configs = [change(second, "config_set", f"config {second}") for second in range(1, 9)]
    told = [one.name for one in kept(deleted, *configs)]
    assert told == ["gone", "config 5", "config 6", "config 7", "config 8"]
    assert len(told) == MOST
    assert [one.name for one in kept(*configs[:3])] == ["config 1", "config 2", "config 3"]


def test_topics_that_were_created_one_after_another_are_one_group() -> None:
    created = [change(second, "topic_created", f"t-{second}") for second in (1, 3, 6)]
    between = change(4, "config_set", "config")
    (group,) = kept(*created)
    assert (group.name, group.span_ms) == ("t-1, t-3 and t-6", 5000)
    assert [one.name for one in kept(*created[:2], between, created[2])] == [
        "t-1 and t-3", "config", "t-6",
    ]  # fmt: skip
    assert kept(*created, at=6000)[0].name == group.name, "the last of them is recent"
    assert kept(*created, at=6001) == []


def test_access_that_was_taken_away_is_told_whatever_was_changed_after_it() -> None:
    """A client that is refused is an incident in which no check finds a fault."""
    taken = [change(second, "acl_deleted", f"ann {second}") for second in range(3)]
    configs = [change(second, "config_set", f"config {second}") for second in range(3, 9)]
    told = [one.name for one in kept(*taken, *configs)]
    assert told == ["ann 1", "ann 2", "config 6", "config 7", "config 8"]
