"""Additions of voters that are answered at the append (AckWhenCommitted=false, KIP-1186)."""

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.raft.inputs import Resign
from replica.raft.messages import RemoveVoterRequest
from tests.replica.raft.host import key
from tests.replica.raft.test_membership import add, caught_up, commit, leader, remove


@pytest.mark.scenario("H35")
def test_add_voter_without_ack_when_committed_is_answered_at_the_append_and_stays_pending():
    host = leader()
    caught_up(host)
    add(host, ack_when_committed=False)
    assert host.raft.log.voters.ids == (1, 2, 3, 4)
    assert host.replies.pop("add").error is ErrorCode.NONE
    assert host.raft.high_watermark < host.disk.log_end
    assert host.ask(RemoveVoterRequest(voter=key(3))).error is ErrorCode.REQUEST_TIMED_OUT
    commit(host, 2, 3)
    assert "add" not in host.replies, "an answer comes once"
    remove(host, key(3))
    assert host.raft.log.voters.ids == (1, 2, 4)


@pytest.mark.scenario("H35")
@pytest.mark.parametrize("ends", ["time", "leadership"])
def test_an_administrator_who_was_answered_at_the_append_gets_no_second_answer(ends):
    host = leader()
    caught_up(host)
    add(host, ack_when_committed=False, timeout_ms=1000)
    assert host.replies.pop("add").error is ErrorCode.NONE
    if ends == "time":
        host.after(1000)
    else:
        host.step(Resign(1))
    assert "add" not in host.replies
    assert host.raft.log.voters.ids == (1, 2, 3, 4)


@pytest.mark.scenario("H35")
def test_add_voter_without_ack_when_committed_is_refused_for_the_same_reasons():
    host = leader()
    add(host, ack_when_committed=False)
    assert host.replies.pop("add").error is ErrorCode.REQUEST_TIMED_OUT, "it lags behind"
    caught_up(host)
    host.after(20)
    add(host, versions=(0, 0), ack_when_committed=False)
    assert host.replies.pop("add").error is ErrorCode.INVALID_REQUEST
    add(host, 3, ack_when_committed=False)
    assert host.replies.pop("add").error is ErrorCode.DUPLICATE_VOTER
    assert host.raft.log.voters.ids == (1, 2, 3)
