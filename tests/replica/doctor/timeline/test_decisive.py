"""Which events of a timeline decide an incident."""

from __future__ import annotations

from replica.doctor.timeline.decisive import decisive
from replica.doctor.timeline.details import RESTARTED
from replica.doctor.timeline.event import Came, Event


def _event(
    event: str, name: str = "x", detail: str = "", *, cause: str | None = None, offset: int = 1
) -> Event:
    return Event("c", offset, event, name, detail, cause, offset, 1, (), None)


BIRTH = [
    _event("election", cause="first"),
    _event("voters_changed", detail="now 1, 2, 3"),
    _event("kraft_version_changed", detail="none -> 1"),
    _event("metadata_version_changed", detail="none -> 4.1-IV1", offset=2),
    _event("feature_level_changed", "share.version", "none -> 1", offset=3)._replace(at=2),
]


def test_first_elections_and_voters_decide_nothing_and_later_ones_do() -> None:
    first = _event("controller_registered", detail="for the first time in this log")
    events = [*BIRTH, _event("snapshot"), first]
    assert decisive(events) == []
    voters = _event("voters_changed", detail="3 (x) removed; now 1, 2")
    later = [_event("election", cause="leader-silent"), voters]
    assert decisive([*events, *later]) == later


def test_every_feature_that_changes_after_the_birth_decides_also_in_a_log_without_the_birth() -> (
    None
):
    later = [
        _event("metadata_version_changed", detail="4.1-IV1 -> 4.4-IV2", offset=9),
        _event("feature_level_changed", "streams.version", "none -> 1", offset=10),
        _event("feature_removed", "share.version", "1 -> none", offset=11),
        _event("kraft_version_changed", detail="none -> 1", offset=12),
    ]
    assert decisive([*BIRTH, *later]) == later
    assert decisive(later) == later


def test_a_broker_that_comes_back_is_told_only_where_it_was_fenced_before() -> None:
    up, down = _event("broker_unfenced", "broker 1"), _event("broker_fenced", "broker 1")
    back = up._replace(came=Came.RESTARTED)
    assert decisive([up]) == []
    assert decisive([up, down, back]) == [down, back]


def test_each_restart_of_a_controller_is_told() -> None:
    first, again, same = (
        _event("controller_registered", "controller 3", detail)
        for detail in ("for the first time in this log", RESTARTED, "again, by the same process")
    )
    assert decisive([first, again, same, again]) == [again, again]


def test_a_broker_that_never_comes_to_the_next_step_is_told() -> None:
    again = _event("broker_registered", "broker 1", f"{RESTARTED}, broker epoch 7")
    stops = _event("broker_shutdown_started", "broker 1")
    down, up = _event("broker_fenced", "broker 1"), _event("broker_unfenced", "broker 1")
    assert decisive([stops, down, again]) == [down, again]
    assert decisive([stops, down, again, up]) == [down]
    assert decisive([stops]) == [stops]


def test_divergences_and_truncations_always_decide() -> None:
    events = [_event("divergence"), _event("histories_part"), _event("truncation")]
    assert decisive(events) == events
