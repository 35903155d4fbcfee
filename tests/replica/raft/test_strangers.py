"""What replicas outside of the voter set cost a leader, however many there are."""

from replica.raft import roles
from replica.raft.inputs import Request
from replica.raft.messages import FetchRequest
from tests.replica.raft.host import Host, config, elect, fetch, key


def leader():
    """Node 1 leads three voters, which have all of its log."""
    host = Host(config(1, 1, 2, 3))
    elect(host)
    for node_id in (2, 3):
        fetch(host, node_id, host.disk.log_end)
    return host


def observers_of(host):
    voters = host.raft.log.voters
    return [key for key in host.raft.role.progress if not voters.is_voter(key)]


def test_a_leader_forgets_the_observer_that_has_not_fetched_for_the_longest_time(monkeypatch):
    monkeypatch.setattr(roles, "MOST_OBSERVERS", 3)
    host = leader()
    for node_id in (7, 8, 9, 7, 10):
        fetch(host, node_id, host.disk.log_end)
    assert observers_of(host) == [key(9), key(7), key(10)]
    assert {key(2), key(3)} <= host.raft.role.progress.keys()


def test_ever_new_directories_that_wait_change_nothing_that_a_voter_is_answered(monkeypatch):
    monkeypatch.setattr(roles, "MOST_OBSERVERS", 20)
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
