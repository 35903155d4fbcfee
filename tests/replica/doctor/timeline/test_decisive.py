"""Which events of a timeline decide an incident."""

from __future__ import annotations

from replica.doctor.timeline.decisive import decisive
from replica.doctor.timeline.events import Event


def _event(event: str, name: str = "x", cause: str | None = None) -> Event:
    return Event("c", 1, event, name, "", cause, 1, 1, (), None)


def test_first_elections_and_voters_decide_nothing_and_later_ones_do() -> None:
    events = [
        _event("election", cause="first"),
        _event("voters_changed"),
        _event("metadata_version_changed"),
        _event("snapshot"),
        _event("controller_registered"),
    ]
    assert decisive(events) == []
    later = [_event("election", cause="leader-silent"), _event("voters_changed")]
    assert decisive([*events, *later]) == later


def test_a_broker_that_comes_back_is_told_only_where_it_was_fenced_before() -> None:
    up, down = _event("broker_unfenced", "broker 1"), _event("broker_fenced", "broker 1")
    other = _event("broker_unfenced", "broker 2")
    assert decisive([up, other]) == []
    assert decisive([up, down, other, up, up]) == [down, up]


def test_the_start_of_a_voter_with_another_disk_is_told() -> None:
    first = _event("controller_registered", "controller 3")
    again, other = (
        _event("controller_registered", name)._replace(detail="again, by a new process")
        for name in ("controller 3", "controller 1")
    )
    assert decisive([first, again, other]) == []
    assert decisive([first, again, other], other_disks=(3,)) == [again]


def test_divergences_and_truncations_always_decide() -> None:
    events = [_event("divergence"), _event("truncation")]
    assert decisive(events) == events
