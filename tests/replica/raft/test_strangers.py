"""What replicas outside of the voter set cost a leader, however many there are."""

import sys
from itertools import count

import pytest

from replica.raft.inputs import Request
from replica.raft.leader import work
from replica.raft.messages import FetchRequest
from tests.replica.raft.host import Host, config, elect, fetch, key
from tests.traced_memory import peak_of


def leader():
    """Node 1 leads three voters, which have all of its log."""
    host = Host(config(1, 1, 2, 3))
    elect(host)
    for node_id in (2, 3):
        fetch(host, node_id, host.disk.log_end)
    return host


def observers_of(host):
    return list(host.raft.observers)


def test_a_leader_forgets_the_observer_that_has_not_fetched_for_the_longest_time(monkeypatch):
    monkeypatch.setattr(work, "MOST_OBSERVERS", 3)
    host = leader()
    for node_id in (7, 8, 9, 7, 10):
        fetch(host, node_id, host.disk.log_end)
    assert observers_of(host) == [key(9), key(7), key(10)]
    assert {key(2), key(3)} <= host.raft.role.progress.keys()


def test_ever_new_directories_that_wait_change_nothing_that_a_voter_is_answered(monkeypatch):
    monkeypatch.setattr(work, "MOST_OBSERVERS", 20)
    alone, visited = leader(), leader()
    for number in range(100):
        strange = FetchRequest(
            replica=key(9, f"{number}"),
            epoch=visited.raft.role.epoch,
            fetch_offset=visited.disk.log_end,
            last_fetched_epoch=visited.raft.role.epoch,
            max_wait_ms=500,
        )
        visited.step(Request(number, strange))
    assert len(observers_of(visited)) == 20
    for host in (alone, visited):
        host.propose(b"a")
    answers = [fetch(host, 2, host.disk.log_end) for host in (alone, visited)]
    assert answers[0] == answers[1]
    assert alone.raft.high_watermark == visited.raft.high_watermark == alone.disk.log_end
    assert set(range(100)) <= visited.replies.keys(), "all that waited have the record"


def waiting(host, replica, wait_ms, known=None):
    """A fetch of this replica at the log end, and what the sender knows as the high watermark."""
    return FetchRequest(
        replica=replica,
        epoch=host.raft.role.epoch,
        fetch_offset=host.disk.log_end,
        last_fetched_epoch=host.raft.role.epoch,
        max_wait_ms=wait_ms,
        high_watermark=known,
    )


def visited_by(observers, known):
    """The leader with so many observers that wait, with a record that no voter has yet."""
    host = leader()
    host.propose(b"a")
    for number in range(observers):
        host.step(Request(number, waiting(host, key(9, f"{number:05}"), 500, known)))
    return host


def a_fetch_that_waits(host, name):
    host.step(Request(name, waiting(host, key(2), 400, host.raft.high_watermark)))


def a_fetch_of_an_observer(host, name):
    host.step(Request(name, waiting(host, key(9, "00000"), 500)))


def a_fetch_of_a_new_directory(host, name):
    host.step(Request(name, waiting(host, key(9, name), 500)))


def a_commit(host, name):
    host.step(Request(name, waiting(host, key(2), 0)))
    assert host.raft.high_watermark == host.disk.log_end


def nothing(host, name):
    host.after(0)


def calls_of(work):
    """How many functions, of Python and of C, `work` called."""
    calls = count()

    def profile(frame, event, argument):
        if event in ("call", "c_call"):
            next(calls)

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return next(calls)


@pytest.mark.parametrize("known", [None, 2**60])
@pytest.mark.parametrize(
    "step",
    [a_fetch_that_waits, a_fetch_of_an_observer, a_fetch_of_a_new_directory, a_commit, nothing],
)
def test_a_step_does_the_same_work_beside_thousands_of_observers_that_wait(step, known):
    """Work is what is called, and what is allocated: a copy of a large table is one call."""

    def work_beside(observers):
        host, other = visited_by(observers, known), visited_by(observers, known)
        return calls_of(lambda: step(host, "fresh")), peak_of(lambda: step(other, "fresh"))

    few, many = work_beside(3), work_beside(1000)
    assert many[0] <= few[0] + 10
    assert many[1] <= few[1] * 1.2 + 1000
