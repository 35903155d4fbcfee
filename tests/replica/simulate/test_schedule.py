"""Events come by time, those of the same ms in the order in which they were scheduled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.simulate.schedule import Schedule, Start


@pytest.mark.scenario("L15")
@given(st.lists(st.integers(0, 5)))
def test_events_come_by_time_and_then_in_the_order_of_scheduling(times):
    schedule = Schedule()
    for number, time in enumerate(times):
        schedule.at(time, Start(number))
    taken = [(schedule.take().node_id, schedule.now) for _ in times]
    assert taken == sorted(enumerate(times), key=lambda event: (event[1], event[0]))


def test_time_goes_to_that_of_the_event_taken_and_delays_count_from_there():
    schedule = Schedule()
    schedule.after(7, Start(1))
    schedule.take()
    schedule.after(5, Start(2))
    schedule.take()
    assert schedule.now == 12


def test_no_event_can_be_scheduled_in_the_past():
    schedule = Schedule()
    schedule.at(7, Start(1))
    schedule.take()
    with pytest.raises(AssertionError, match="past"):
        schedule.at(6, Start(1))
