"""Candidates of Kafka's that stand again in an epoch whose leader they have followed."""

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.raft.mistakes import Mistake
from tests.replica.raft.host import Host, begin, config, stored, vote


def test_a_voter_of_kafka_s_that_stands_again_after_a_restart_is_refused_without_an_error():
    """It has followed the leader of this epoch, so its log has records of it. INVALID_REQUEST of
    its own epoch, from a replica that names no leader, would end its process."""
    host = Host(config(1, 1, 2, 3))
    assert not vote(host, 3, epoch=2, end_offset=0, pre_vote=True).leader_id > 0
    answer = vote(host, 2, epoch=2, last_epoch=2, end_offset=5)
    assert (answer.error, answer.granted, answer.epoch) == (ErrorCode.NONE, False, 2)
    assert host.raft.illegal_messages == {}
    assert stored(host) == (2, -1, None)


def test_a_voter_of_kafka_s_that_stands_again_is_told_the_leader_where_there_is_one():
    """The candidate then follows that leader. No message of Kafka's own counts as illegal."""
    host = Host(config(1, 1, 2, 3))
    begin(host, 3, epoch=2)
    answer = vote(host, 2, epoch=2, last_epoch=2, end_offset=5)
    assert (answer.error, answer.leader_id) == (ErrorCode.INVALID_REQUEST, 3)
    assert host.raft.illegal_messages == {}


def test_a_voter_of_kafka_s_that_stands_again_in_an_older_epoch_is_told_the_newer_one():
    host = Host(config(1, 1, 2, 3))
    begin(host, 3, epoch=3)
    answer = vote(host, 2, epoch=2, last_epoch=2, end_offset=5)
    assert (answer.error, answer.epoch) == (ErrorCode.INVALID_REQUEST, 3)
    assert host.raft.illegal_messages == {}


@pytest.mark.parametrize("sent", [{"end_offset": 0}, {"candidate": 1}, {"epoch": 3}])
def test_no_correct_voter_stands_again_with_an_empty_log_as_us_or_in_an_epoch_to_come(sent):
    host = Host(config(1, 1, 2, 3))
    begin(host, 3, epoch=2)
    asked = {"candidate": 2, "epoch": 2, "end_offset": 5, **sent}
    vote(host, last_epoch=asked["epoch"], **asked)
    assert [each.mistake for each in host.raft.illegal_messages] == [Mistake.VOTE_NUMBERS]
