"""The leader validates positions by their epochs: a session finds truncations, and ignores stale
answers (KIP-320)."""

import pytest

from replica.consumer.session import AwaitReset, AwaitValidation, Fetching
from replica.consumer.values import (
    EndOfEpoch,
    EpochEnded,
    Fetch,
    FetchPosition,
    ListedOffset,
    ListOffset,
    LogTruncationError,
    OffsetReset,
    ReadRefusedError,
    ResetPolicy,
    Truncation,
)
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from tests.replica.consumer.asking import Asking, Chosen, batch, fetched, metadata, reading

UNDEFINED = EpochEnded(end=OffsetAndEpoch(-1, -1))


def validating(offset=10, epoch=5, policy=ResetPolicy.EARLIEST):
    return Asking(policy, FetchPosition(offset, epoch), known=metadata(epoch=8))


@pytest.mark.scenario("K01")
def test_a_truncation_with_a_reset_policy_goes_on_where_the_logs_part():
    asking = validating()
    asking.exchange(EpochEnded(end=OffsetAndEpoch(5, 7)))
    assert asking.session.state == Fetching(FetchPosition(5, 7))
    assert asking.reports == [Truncation(FetchPosition(10, 5), OffsetAndEpoch(5, 7))]


@pytest.mark.scenario("K02")
def test_a_truncation_without_a_reset_policy_is_an_error_until_the_caller_seeks():
    asking = validating(policy=ResetPolicy.NONE)
    asking.exchange(EpochEnded(end=OffsetAndEpoch(5, 4)))
    for _ in range(2):
        with pytest.raises(LogTruncationError, match=r"offset 5, where its epoch 4 ends") as raised:
            asking.session.next_ask(asking.now_ms + 10_000)
        assert raised.value.diverging == OffsetAndEpoch(5, 4)
    assert asking.session.state == AwaitValidation(FetchPosition(10, 5))
    asking.session.seek(FetchPosition(5, 4))
    assert asking.ask()[1] == EndOfEpoch(1, FetchPosition(5, 4), 8)


@pytest.mark.scenario("K03")
def test_an_epoch_that_the_leader_does_not_know_resets_by_policy():
    asking = validating()
    asking.exchange(UNDEFINED)
    assert asking.session.state == AwaitReset(ResetPolicy.EARLIEST, FetchPosition(10, 5), True)
    asking.exchange(ListedOffset(offset=2, epoch=6))
    assert asking.session.state == Fetching(FetchPosition(2, 6))
    assert asking.reports == [
        Truncation(FetchPosition(10, 5), None),
        OffsetReset(FetchPosition(10, 5), FetchPosition(2, 6)),
    ]


def test_a_position_that_one_leader_does_not_know_is_shown_to_the_next_before_it_is_reset():
    asking = validating()
    asking.exchange(UNDEFINED)
    asking.session.learn(metadata(leader=2, epoch=9))
    asking.exchange(EpochEnded(end=OffsetAndEpoch(12, 5)))
    assert asking.session.state == Fetching(FetchPosition(10, 5))
    assert not asking.reports


@pytest.mark.scenario("K03")
def test_an_epoch_that_the_leader_does_not_know_is_an_error_without_offset_and_policy():
    asking = validating(policy=ResetPolicy.NONE)
    asking.exchange(UNDEFINED)
    with pytest.raises(LogTruncationError, match="doesn't know that epoch") as raised:
        asking.ask()
    assert raised.value.diverging is None
    assert asking.session.state == AwaitValidation(FetchPosition(10, 5))


@pytest.mark.scenario("K04")
@pytest.mark.parametrize("end", [10, 11, 500])
def test_a_position_up_to_the_end_of_its_epoch_is_valid(end):
    asking = validating()
    asking.exchange(EpochEnded(end=OffsetAndEpoch(end, 5)))
    assert asking.session.state == Fetching(FetchPosition(10, 5))
    assert not asking.reports


@pytest.mark.scenario("K05")
def test_a_seek_makes_the_answer_to_a_validation_stale():
    asking = validating()
    stale, _ = asking.ask()
    asking.session.seek(FetchPosition(20, 6))
    assert not asking.answer(stale, EpochEnded(end=OffsetAndEpoch(5, 5)))
    assert asking.session.state == AwaitValidation(FetchPosition(20, 6))
    assert asking.ask()[1] == EndOfEpoch(1, FetchPosition(20, 6), 8)


@pytest.mark.scenario("K06")
def test_a_newer_epoch_makes_the_answer_to_a_validation_stale():
    asking = validating()
    stale, _ = asking.ask()
    asking.session.learn(metadata(leader=2, epoch=9))
    assert not asking.answer(stale, EpochEnded(end=OffsetAndEpoch(5, 5)))
    assert asking.ask()[1] == EndOfEpoch(2, FetchPosition(10, 5), 9)


@pytest.mark.scenario("K07")
def test_a_reset_makes_the_answer_to_a_validation_stale():
    asking = validating()
    stale, _ = asking.ask()
    asking.session.reset(ResetPolicy.LATEST)
    assert not asking.answer(stale, EpochEnded(end=OffsetAndEpoch(11, 5)))
    assert asking.session.state == AwaitReset(ResetPolicy.LATEST)
    assert asking.session.position is None


@pytest.mark.scenario("K08")
@pytest.mark.parametrize(("leader", "epoch"), [(1, 6), (2, 6)])
def test_a_raised_leader_epoch_stops_fetching_until_the_position_is_valid(leader, epoch):
    asking = reading(10, 5)
    asking.session.learn(metadata(leader=leader, epoch=epoch))
    assert asking.exchange(EpochEnded(end=OffsetAndEpoch(10, 5))) == EndOfEpoch(
        leader, FetchPosition(10, 5), epoch
    )
    assert asking.ask()[1] == Fetch(leader, FetchPosition(10, 5), epoch)


@pytest.mark.scenario("K09")
def test_a_position_without_epoch_is_fetched_from_any_leader():
    asking = reading(10)
    asking.session.learn(metadata(leader=2, epoch=6))
    assert asking.ask()[1] == Fetch(2, FetchPosition(10), 6)


@pytest.mark.scenario("K10")
def test_a_leader_without_epochs_validates_nothing():
    asking = reading(10, 5)
    asking.known = metadata(leader=2, epoch=-1)
    asking.session.learn(asking.known)
    assert asking.ask()[1] == Fetch(2, FetchPosition(10, 5), -1)


@pytest.mark.scenario("K10")
def test_a_broker_that_cannot_be_asked_for_epochs_leaves_validation_out():
    asking = validating()
    asking.exchange(EpochEnded(end=None))
    assert asking.ask()[1] == Fetch(1, FetchPosition(10, 5), 8)


def test_older_metadata_is_ignored():
    asking = reading(10, 5)
    asking.session.learn(metadata(leader=2, epoch=6))
    assert not asking.session.learn(metadata(leader=1, epoch=5))
    assert asking.session.leader.node_id == 2


def test_a_topic_that_was_made_anew_may_have_an_older_epoch():
    asking = reading(10, 5)
    assert asking.session.learn(metadata(leader=2, epoch=0, topic_id="another"))
    assert asking.ask()[1] == EndOfEpoch(2, FetchPosition(10, 5), 0)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
    ],
)
def test_a_validation_that_fails_is_repeated_after_a_look_at_the_metadata(error):
    asking = validating()
    before = asking.now_ms
    asking.exchange(EpochEnded(error))
    refreshed = asking.refreshed
    assert asking.ask()[1] == EndOfEpoch(1, FetchPosition(10, 5), 8)
    assert asking.refreshed == refreshed + 1
    assert asking.now_ms == before + 100


def test_a_reader_without_rights_is_told_so_and_may_try_again():
    asking = validating()
    with pytest.raises(ReadRefusedError, match="Read and Describe"):
        asking.exchange(EpochEnded(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert asking.ask()[1] == EndOfEpoch(1, FetchPosition(10, 5), 8)


def test_an_epoch_in_which_nothing_was_read_is_no_truncation():
    # The leader of epoch 5 wrote nothing, so the log of its successor has no epoch 5.
    asking = validating()
    asking.exchange(EpochEnded(end=OffsetAndEpoch(10, 4)))
    assert asking.session.state == Fetching(FetchPosition(10, 5))


def test_records_of_an_epoch_that_the_leader_lacks_are_truncated_whatever_its_log_end():
    asking = reading(6)
    asking.exchange(fetched(batch(6, 7, 4), batch(8, 9, 5)))
    asking.session.learn(metadata(leader=2, epoch=8))
    asking.exchange(EpochEnded(end=OffsetAndEpoch(12, 4)))
    assert asking.session.state == Fetching(FetchPosition(8, 4))
    assert asking.reports == [Truncation(FetchPosition(10, 5), OffsetAndEpoch(8, 4))]


def test_logs_that_part_several_epochs_back_are_followed_to_where_they_part():
    asking = reading(0)
    asking.exchange(fetched(batch(0, 3, 1), batch(4, 7, 3), batch(8, 9, 5)))
    asking.session.learn(metadata(leader=2, epoch=8))
    asking.exchange(EpochEnded(end=OffsetAndEpoch(20, 4)))
    # The leader lacks the records of epoch 5 that were read. It is asked about epoch 3 next.
    assert asking.exchange(EpochEnded(end=OffsetAndEpoch(6, 2))) == EndOfEpoch(
        2, FetchPosition(8, 3), 8
    )
    assert asking.exchange(EpochEnded(end=OffsetAndEpoch(5, 1))) == EndOfEpoch(
        2, FetchPosition(4, 1), 8
    )
    assert asking.ask()[1] == Fetch(2, FetchPosition(4, 1), 8)
    assert [report.diverging.offset for report in asking.reports] == [8, 4]


@pytest.mark.scenario("K23")
def test_a_seek_or_another_reset_makes_the_answer_to_a_lookup_stale():
    asking = Asking(ResetPolicy.EARLIEST, known=metadata())
    first, _ = asking.ask()
    asking.session.reset(ResetPolicy.LATEST)
    assert not asking.answer(first, ListedOffset(offset=3, epoch=5))
    assert asking.session.position is None
    second, ask = asking.ask()
    assert ask == ListOffset(1, ResetPolicy.LATEST, 5)
    asking.session.seek(FetchPosition(7))
    asking.answer(second, ListedOffset(offset=30, epoch=5))
    assert asking.session.position == FetchPosition(7)


@pytest.mark.scenario("K23")
def test_the_same_reset_again_uses_the_answer_in_flight():
    asking = Asking(ResetPolicy.EARLIEST, known=metadata())
    first, _ = asking.ask()
    asking.session.reset(ResetPolicy.EARLIEST)
    asking.answer(first, ListedOffset(offset=3, epoch=5))
    assert asking.session.position == FetchPosition(3, 5)


@pytest.mark.scenario("K23")
def test_the_answer_to_a_session_that_was_closed_is_discarded():
    asking = reading(10, 5)
    ask_id, _ = asking.ask()
    asking.session.close()
    assert not asking.answer(ask_id, fetched(batch(10, 12)))


@pytest.mark.scenario("K24")
@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
    ],
)
def test_a_lookup_that_fails_is_repeated_after_a_look_at_the_metadata(error):
    asking = Asking(ResetPolicy.LATEST, known=metadata())
    asking.exchange(ListedOffset(error))
    refreshed = asking.refreshed
    assert asking.session.state == AwaitReset(ResetPolicy.LATEST)
    assert asking.ask()[1] == ListOffset(1, ResetPolicy.LATEST, 5)
    assert asking.refreshed == refreshed + 1


def test_the_earliest_offset_is_that_of_the_replica_being_read_the_latest_the_leaders():
    asking = Asking(ResetPolicy.EARLIEST, selector=Chosen(3), known=metadata())
    assert asking.ask()[1] == ListOffset(3, ResetPolicy.EARLIEST, 5)
    asking.session.reset(ResetPolicy.LATEST)
    assert asking.ask()[1] == ListOffset(1, ResetPolicy.LATEST, 5)


def test_a_follower_that_looks_up_nothing_for_readers_is_still_read_from():
    asking = Asking(ResetPolicy.EARLIEST, selector=Chosen(3), known=metadata())
    asking.exchange(ListedOffset(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert asking.exchange(ListedOffset(offset=4, epoch=2)) == ListOffset(
        1, ResetPolicy.EARLIEST, 5
    )
    assert asking.ask()[1] == Fetch(3, FetchPosition(4, 2), 5)
