"""Parked fetches: which of them end when, and at what cost."""

from hypothesis import given
from hypothesis import strategies as st

from replica.raft.config import FOREVER
from replica.raft.leader.parked import ParkedFetch, ParkedFetches
from replica.raft.messages import FetchRequest
from tests.replica.raft.host import key


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


def fetch(number, deadline):
    request = FetchRequest(replica=key(9), epoch=1, fetch_offset=0, last_fetched_epoch=1)
    return ParkedFetch(number, request, deadline)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3)), max_size=30), st.integers(0, 20))
def test_fetches_end_by_their_deadline_or_when_there_is_news_for_them(waits, now):
    parked, waiting = ParkedFetches(), []
    for number, (deadline, _) in enumerate(waits):
        parked.park(fetch(number, deadline))
        waiting.append(number)

    taken = {each.request_id for each in parked.take(lambda each: waits[each.request_id][1] == 0)}

    assert taken == {number for number in waiting if waits[number][1] == 0}
    left = [number for number in waiting if number not in taken]
    assert parked.deadline == min((waits[number][0] for number in left), default=FOREVER)
    expired = [each.request_id for each in parked.take_expired(now)]
    assert expired == sorted(
        (number for number in left if waits[number][0] <= now), key=lambda n: (waits[n][0], n)
    )
    assert {each.request_id for each in parked} == {*left} - {*expired}


def test_a_fetch_among_thousands_costs_few_comparisons():
    parked = ParkedFetches()
    for number in range(3000):
        parked.park(fetch(number, Counted(1000 + number * 7919 % 3000)))
    Counted.compared = 0
    for number in range(100):
        parked.park(fetch(3000 + number, Counted(500 + number)))
        assert parked.take_expired(400) == []
        assert parked.deadline == 500
    assert Counted.compared < 100 * 60
