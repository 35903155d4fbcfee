"""Parked fetches: which of them end when, and at what cost."""

from hypothesis import given
from hypothesis import strategies as st

from replica.raft.config import FOREVER
from replica.raft.leader.parked import ParkedFetch, ParkedFetches
from replica.raft.messages import FetchRequest
from tests.replica.raft.host import key

LOG_END = 12


class Counted(int):
    """A number that counts how often it is compared."""

    compared = 0

    def __lt__(self, other):
        Counted.compared += 1
        return int(self) < int(other)

    def __le__(self, other):
        Counted.compared += 1
        return int(self) <= int(other)

    def __eq__(self, other):
        Counted.compared += 1
        return int(self) == int(other)

    __hash__ = int.__hash__


def fetch(number, deadline, known=None):
    request = FetchRequest(
        replica=key(9), epoch=1, fetch_offset=LOG_END, last_fetched_epoch=1, high_watermark=known
    )
    return ParkedFetch(number, request, deadline)


WAITS = st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(0, 5)), max_size=30)


@given(WAITS, st.integers(0, 5), st.integers(0, 20))
def test_fetches_end_by_their_deadline_or_when_there_is_news_for_them(waits, high_watermark, now):
    parked, waiting = ParkedFetches(), {}
    for number, (deadline, known) in enumerate(waits):
        parked.park(fetch(number, deadline, known))
        waiting[number] = deadline, known

    def in_order(numbers):
        return sorted(numbers, key=lambda number: (waits[number][0], number))

    def drop(numbers):
        for number in numbers:
            del waiting[number]
        return numbers

    assert parked.take_due(LOG_END, None) == []
    told = [n for n, (_, known) in waiting.items() if known is not None and known < high_watermark]
    due = [each.request_id for each in parked.take_due(LOG_END, high_watermark)]
    assert due == in_order(drop(told))
    assert parked.deadline == min((deadline for deadline, _ in waiting.values()), default=FOREVER)
    over = [number for number, (deadline, _) in waiting.items() if deadline <= now]
    assert [each.request_id for each in parked.take_expired(now)] == in_order(drop(over))
    assert {each.request_id for each in parked} == waiting.keys()
    rest = [each.request_id for each in parked.take_due(LOG_END + 1, high_watermark)]
    assert rest == in_order(waiting)
    assert (list(parked), parked.deadline) == ([], FOREVER)


def test_a_fetch_among_thousands_costs_few_comparisons():
    parked = ParkedFetches()
    for number in range(3000):
        parked.park(fetch(number, Counted(1000 + number * 7919 % 3000), Counted(7)))
    Counted.compared = 0
    for number in range(100):
        parked.park(fetch(3000 + number, Counted(500 + number), Counted(7)))
        assert parked.take_expired(400) == parked.take_due(LOG_END, 7) == []
        assert parked.deadline == 500
    assert Counted.compared < 100 * 60


def test_fetches_that_ended_leave_nothing_behind_where_nothing_is_appended():
    parked, most = ParkedFetches(), 0
    for number in range(5000):
        parked.park(fetch(number, deadline=number + 10, known=2**60))
        parked.take_expired(number)
        most = max(most, len(list(parked)), len(parked._by_watermark), len(parked._by_deadline))
    assert most < 40
