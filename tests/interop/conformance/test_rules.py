"""The rules over traces: what our own core does keeps them, and each one can be broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from replica.model.batch import Batch
from replica.model.control import KRaftVoters
from replica.model.voters import VoterSet
from replica.raft.messages import BeginQuorumEpochRequest, FetchResponse, VoteRequest, VoteResponse
from replica.simulate.broken import BrokenInvariantError
from tests.interop.conformance.exchanges import Exchange, Trace
from tests.interop.conformance.own_quorum import recorded
from tests.interop.conformance.rules import check
from tests.replica.raft.host import key, voters

Change = Callable[[Exchange], Exchange]


@pytest.fixture(scope="module")
def sound() -> Trace:
    """It has elections, records and more than one epoch."""
    return recorded(1)


@pytest.mark.parametrize("seed", range(4))
def test_what_our_own_core_says_keeps_every_rule(seed: int) -> None:
    judged = check(recorded(seed))
    for rule in ("one leader", "epochs", "votes", "committed", "high watermark"):
        assert judged[rule] > 0, rule


def test_two_nodes_that_announce_one_epoch_are_found(sound: Trace) -> None:
    def other(each: Exchange) -> Exchange:
        return replace(each, request=replace(each.request, leader_id=each.node))

    broken = _changed(sound, lambda e: isinstance(e.request, BeginQuorumEpochRequest), other)
    _assert_broken(broken, "one leader")


def test_an_answer_of_an_older_epoch_is_found(sound: Trace) -> None:
    def older(each: Exchange) -> Exchange:
        assert each.reply is not None
        return replace(each, reply=replace(each.reply, epoch=0, leader_id=-1))

    _assert_broken(_changed(sound, _is_late_fetch, older), "epochs")


def test_a_second_vote_in_an_epoch_is_found(sound: Trace) -> None:
    granted = [each for each in sound.exchanges if _is_granted(each)]
    others = {1, 2, 3} - {granted[0].node, granted[0].request.candidate.node_id}
    again = replace(granted[0].request, candidate=key(others.pop()))
    twice = replace(granted[0], client=None, request=again)
    _assert_broken(replace(sound, exchanges=(*sound.exchanges, twice)), "votes")


def test_a_vote_for_an_older_log_is_found(sound: Trace) -> None:
    def older(each: Exchange) -> Exchange:
        return replace(each, request=replace(each.request, last_epoch=0, end_offset=0))

    late = [each for each in sound.exchanges if _is_granted(each) and each.request.last_epoch]
    _assert_broken(_changed(sound, lambda each: each is late[-1], older), "votes")


def test_two_contents_of_one_offset_and_epoch_are_found(sound: Trace) -> None:
    found = list(_with_records(sound))
    assert isinstance(found[-1].reply, FetchResponse)
    batches = [
        replace(batch, data=b"other content than before") for batch in found[-1].reply.batches
    ]

    def other(each: Exchange) -> Exchange:
        return replace(each, reply=replace(each.reply, batches=tuple(batches)))

    _assert_broken(_changed(sound, lambda each: each is found[-1], other), "log matching")


def test_a_newer_epoch_below_what_was_committed_is_found(sound: Trace) -> None:
    last = list(_with_records(sound))[-1]
    assert isinstance(last.reply, FetchResponse)
    lost = Batch(0, 0, last.reply.epoch + 1, data=b"in place of what was committed")
    later = replace(last, reply=replace(last.reply, batches=(lost,)))
    _assert_broken(replace(sound, exchanges=(*sound.exchanges, later)), "committed")


def test_a_high_watermark_that_no_majority_has_fetched_is_found(sound: Trace) -> None:
    def early(each: Exchange) -> Exchange:
        assert isinstance(each.reply, FetchResponse)
        return replace(each, reply=replace(each.reply, high_watermark=10**6))

    last = [each for each in sound.exchanges if _is_late_fetch(each)][-1]
    _assert_broken(_changed(sound, lambda each: each is last, early), "high watermark")


def test_a_high_watermark_that_falls_is_found(sound: Trace) -> None:
    def fallen(each: Exchange) -> Exchange:
        assert isinstance(each.reply, FetchResponse)
        return replace(each, reply=replace(each.reply, high_watermark=1))

    _assert_broken(_changed(sound, _is_late_fetch, fallen), "high watermark")


def test_voters_that_change_by_two_at_once_are_found(sound: Trace) -> None:
    last = list(_with_records(sound))[-1]
    assert isinstance(last.reply, FetchResponse)
    end, epoch = 10**6, last.reply.epoch

    def set_at(offset: int, named: VoterSet) -> Batch:
        return Batch(offset, offset, epoch, control=(KRaftVoters(named),), data=b"a voter set")

    batches = (set_at(end, voters(1, 2, 3)), set_at(end + 1, voters(1, 4, 5)))
    later = replace(last, reply=replace(last.reply, batches=batches, high_watermark=end + 2))
    with pytest.raises(BrokenInvariantError, match=r"^voter sets: "):
        check(replace(sound, exchanges=(*sound.exchanges, later)))


def _changed(trace: Trace, which: Callable[[Exchange], bool], change: Change) -> Trace:
    """The trace with the first such exchange changed."""
    found = next(each for each in trace.exchanges if which(each))
    kept = tuple(change(each) if each is found else each for each in trace.exchanges)
    return replace(trace, exchanges=kept)


def _assert_broken(trace: Trace, name: str) -> None:
    with pytest.raises(BrokenInvariantError, match=f"^{name}: "):
        check(trace)


def _is_granted(each: Exchange) -> bool:
    request, reply = each.request, each.reply
    is_real = isinstance(request, VoteRequest) and not request.pre_vote
    return is_real and isinstance(reply, VoteResponse) and reply.granted


def _is_late_fetch(each: Exchange) -> bool:
    """Of a leader that has committed more than its first record."""
    reply = each.reply
    return isinstance(reply, FetchResponse) and (reply.high_watermark or 0) > 3


def _with_records(trace: Trace) -> Iterator[Exchange]:
    for each in trace.exchanges:
        if isinstance(each.reply, FetchResponse) and each.reply.batches:
            yield each
