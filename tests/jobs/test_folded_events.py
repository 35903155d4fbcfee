"""Which events of an incident are told in one line, and which are left out of a full page."""

from __future__ import annotations

import pytest

from jobs.cli.clock import UTC_CLOCK
from jobs.cli.directories.folded_events import folded, text_of
from jobs.cli.directories.incident import IncidentEvent, Weight, gravest
from replica.doctor.timeline.details import RESTARTED
from replica.doctor.timeline.event import Came, Event


def event(second: int, what: str, name: str, detail: str = "", came: Came | None = None) -> Event:
    return Event("c", 1000 * second, what, name, detail, None, second, 1, (), None, came)


def controller(second: int, node: int) -> Event:
    return event(second, "controller_registered", f"controller {node}", RESTARTED)


def fenced(second: int, node: int, came: Came = Came.ASKED) -> Event:
    return event(second, "broker_fenced", f"broker {node}", "in other words", came)


def back(second: int, node: int, came: Came = Came.RESTARTED) -> Event:
    return event(second, "broker_unfenced", f"broker {node}", "in other words", came)


def told(*events: Event) -> list[str]:
    return [text_of(one, UTC_CLOCK) for one in folded(events)]


BETWEEN = "between 1970-01-01 00:00:01.000 UTC and 1970-01-01 00:00:0{}.000 UTC"


def test_a_rolling_restart_is_one_line() -> None:
    rolled = [controller(1, 3), fenced(2, 11), back(3, 11), fenced(4, 12), back(5, 12)]
    names = "controller 3, broker 11, broker 12, controller 2 and controller 1 (2 times)"
    assert told(*rolled, controller(6, 2), controller(7, 1), controller(8, 1)) == [
        f"restarted: {names}, {BETWEEN.format(8)}"
    ]


def test_one_restart_is_told_in_the_words_of_the_timeline() -> None:
    assert told(controller(1, 1)) == [f"controller registered: controller 1 {RESTARTED}"]
    assert told(fenced(1, 11), back(4, 11)) == [
        "restarted: broker 11 at 00:00:01 (as asked for, back at 00:00:04)"
    ]


def test_a_few_restarts_are_told_in_their_order_with_their_times() -> None:
    rolled = [fenced(1, 11), back(3, 11), fenced(4, 12), fenced(5, 11), back(6, 11), back(7, 12)]
    asked = "as asked for, back at 00:00:0"
    assert told(*rolled, controller(8, 1)) == [
        f"restarted: broker 11 at 00:00:01 ({asked}3), broker 12 at 00:00:04 ({asked}7), "
        f"broker 11 at 00:00:05 ({asked}6) and controller 1 at 00:00:08"
    ]
    (over_midnight,) = told(controller(1, 1), controller(86_400, 2))
    assert "between 1970-01-01 00:00:01.000 UTC and 1970-01-02 " in over_midnight


def test_moved_replicas_are_told_with_their_brokers() -> None:
    moved = event(1, "replicas_changed", "partition users-0", "11, 12 and 13 -> 13 and 11")
    assert told(moved) == ["replicas changed: partition users-0: 11, 12 and 13 -> 13 and 11"]


def test_what_interrupts_restarts_stays_in_its_place() -> None:
    election = event(2, "election", "node 2", "leads epoch 2")
    assert told(controller(1, 1), election, controller(3, 1)) == [
        f"controller registered: controller 1 {RESTARTED}",
        "election: node 2 leads epoch 2",
        f"controller registered: controller 1 {RESTARTED}",
    ]


@pytest.mark.parametrize(
    "events",
    [
        (fenced(1, 11, Came.UNASKED), back(2, 11)),
        (fenced(1, 11), back(2, 11, Came.BACK)),
        (fenced(1, 11), fenced(2, 12)),
    ],
    ids=["it fell silent", "no restart", "they stay away"],
)
def test_what_is_no_orderly_restart_is_not_folded(events: tuple[Event, ...]) -> None:
    assert len(told(*events)) == 2


def test_features_that_one_request_changed_are_one_line() -> None:
    upgraded = [
        event(1, "metadata_version_changed", "metadata.version", "4.1-IV1 -> 4.4-IV2"),
        event(1, "feature_level_changed", "share.version", "none -> 2"),
        event(2, "feature_level_changed", "group.version", "1 -> none"),
    ]
    assert told(*upgraded) == [
        "features changed: metadata.version 4.1-IV1 -> 4.4-IV2 and share.version none -> 2",
        "features changed: group.version 1 -> none",
    ]


def test_a_full_page_leaves_out_the_light_events_and_then_the_old_ones() -> None:
    weights = [Weight.GRAVE, Weight.LIGHT, Weight.USUAL, Weight.USUAL, Weight.LIGHT]
    events = [IncidentEvent(at, str(at), at, weight) for at, weight in enumerate(weights)]
    assert [one.at for one in gravest(events, 5)] == [0, 1, 2, 3, 4]
    assert [one.at for one in gravest(events, 4)] == [0, 2, 3, 4]
    assert [one.at for one in gravest(events, 2)] == [0, 3]


def test_a_restart_with_another_event_in_it_is_told_in_two_places() -> None:
    """A combined node takes the quorum's leader with it: the election lies between its stop and
    its return."""
    election = event(3, "election", "node 2", "leads epoch 2")
    stop, came = fenced(1, 11), back(5, 11)
    alone = ["broker fenced: broker 11 in other words", "controller registered: controller 1 "]
    for lines in (
        told(stop, controller(2, 1), election, came),
        told(stop, controller(2, 1), election, controller(4, 3), came),
    ):
        assert [one.startswith(text) for one, text in zip(lines, alone, strict=False)] == [True] * 2
        assert lines[2] == "election: node 2 leads epoch 2"
        assert lines[-1] == "broker unfenced: broker 11 in other words"
