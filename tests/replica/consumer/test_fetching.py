"""What a session does with the answer to a fetch: with records, with an offset out of range, and
with a preferred replica (KIP-392)."""

import pytest

from replica.consumer.session import AwaitReset, AwaitValidation, Fetching
from replica.consumer.values import (
    EndOfEpoch,
    EpochEnded,
    Fetch,
    Fetched,
    FetchPosition,
    ListedOffset,
    ListOffset,
    Metadata,
    NoOffsetError,
    OffsetReset,
    RefreshMetadata,
    ResetPolicy,
)
from replica.errors import CorruptDataError, TruncatedDataError
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from tests.replica.consumer.asking import (
    LEASE_MS,
    Asking,
    Chosen,
    batch,
    fetched,
    metadata,
    reading,
)

OUT_OF_RANGE = Fetched(ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=20, log_start=0)
STILL_VALID = EpochEnded(end=OffsetAndEpoch(500, 5))


@pytest.mark.scenario("K11", "T19")
@pytest.mark.parametrize("log_start", [-1, 0, 200])
def test_out_of_range_from_a_follower_is_taken_to_the_leader_and_never_resets(log_start):
    asking = reading(100, selector=Chosen(3))
    answer = Fetched(ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=50, log_start=log_start)
    assert asking.exchange(answer) == Fetch(3, FetchPosition(100), 5)
    assert asking.session.position == FetchPosition(100)
    assert asking.exchange(fetched(batch(100, 100))) == Fetch(1, FetchPosition(100), 5)
    assert asking.read == [(100, 5)]
    assert not asking.reports


@pytest.mark.scenario("K11")
def test_a_follower_said_out_of_range_and_the_leader_confirms_the_position_first():
    asking = reading(100, 5, selector=Chosen(3))
    asking.exchange(OUT_OF_RANGE)
    assert asking.exchange(STILL_VALID) == EndOfEpoch(1, FetchPosition(100, 5), 5)
    # Case 4 of KIP-392: the position is still valid, so the ISR may have changed.
    asking.known = metadata(in_sync=(1, 2))
    refreshed = asking.refreshed
    assert isinstance(asking.ask()[1], Fetch)
    assert asking.refreshed == refreshed + 1


def test_a_failed_replica_is_tried_again_when_the_isr_changes_or_a_lease_is_over():
    asking = reading(100, selector=Chosen(3))
    asking.exchange(OUT_OF_RANGE)
    assert asking.exchange(fetched()).node_id == 1
    asking.session.learn(metadata())
    assert asking.exchange(fetched()).node_id == 1
    asking.session.learn(metadata(in_sync=(1, 3)))
    assert asking.exchange(OUT_OF_RANGE).node_id == 3
    assert asking.exchange(fetched()).node_id == 1
    asking.now_ms += LEASE_MS + 1
    assert asking.exchange(fetched()).node_id == 3


@pytest.mark.scenario("K12")
@pytest.mark.parametrize("policy", [ResetPolicy.EARLIEST, ResetPolicy.LATEST])
def test_out_of_range_from_the_leader_resets_by_policy(policy):
    asking = reading(100, policy=policy)
    asking.exchange(OUT_OF_RANGE)
    assert asking.session.state == AwaitReset(policy, lost=FetchPosition(100))
    assert asking.session.position is None
    assert asking.exchange(ListedOffset(offset=20, epoch=5)) == ListOffset(1, policy, 5)
    assert asking.reports == [OffsetReset(FetchPosition(100), FetchPosition(20, 5))]


@pytest.mark.scenario("K13")
def test_out_of_range_from_the_leader_without_policy_is_raised_on_every_poll():
    asking = reading(100, policy=ResetPolicy.NONE)
    asking.exchange(OUT_OF_RANGE)
    for _ in range(3):
        with pytest.raises(NoOffsetError, match=r"offset 100 .* 0 to 19: "):
            asking.session.next_ask(asking.now_ms + 1000)
    assert asking.session.state == Fetching(FetchPosition(100))
    asking.session.seek(FetchPosition(20))
    assert asking.ask()[1] == Fetch(1, FetchPosition(20), 5)


def test_without_policy_and_offset_there_is_nothing_to_ask():
    asking = Asking(ResetPolicy.NONE, known=metadata())
    with pytest.raises(NoOffsetError, match="no offset to start from"):
        asking.ask()
    asking.session.reset(ResetPolicy.LATEST)
    assert isinstance(asking.ask()[1], ListOffset)


def test_an_offset_above_the_leaders_log_end_is_validated_before_a_reset():
    asking = reading(100, 5)
    asking.exchange(OUT_OF_RANGE)
    assert asking.session.state == AwaitValidation(FetchPosition(100, 5))
    asking.exchange(EpochEnded(end=OffsetAndEpoch(20, 5)))
    assert asking.session.state == Fetching(FetchPosition(20, 5))
    assert asking.reports[0].diverging == OffsetAndEpoch(20, 5)


def test_an_offset_that_the_leader_calls_valid_and_out_of_range_is_reset_in_the_end():
    asking = reading(100, 5)
    asking.exchange(OUT_OF_RANGE)
    asking.exchange(STILL_VALID)
    asking.exchange(OUT_OF_RANGE)
    assert asking.session.state == AwaitReset(ResetPolicy.EARLIEST, lost=FetchPosition(100, 5))


def test_an_offset_below_the_leaders_log_start_is_reset_without_asking_for_epochs():
    asking = reading(100, 5)
    answer = Fetched(ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=500, log_start=200)
    asking.exchange(answer)
    assert asking.session.state == AwaitReset(ResetPolicy.EARLIEST, lost=FetchPosition(100, 5))


@pytest.mark.scenario("K14")
def test_out_of_range_that_comes_after_a_seek_is_discarded():
    asking = reading(100)
    stale, _ = asking.ask()
    asking.session.seek(FetchPosition(10))
    asking.answer(stale, OUT_OF_RANGE)
    assert asking.session.state == Fetching(FetchPosition(10))
    assert asking.ask()[1] == Fetch(1, FetchPosition(10), 5)


@pytest.mark.scenario("K15", "T19")
@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NETWORK_EXCEPTION,
    ],
)
@pytest.mark.parametrize("node_id", [None, 3])
def test_an_error_that_passes_leads_to_a_look_at_the_metadata_and_no_reset(error, node_id):
    asking = reading(100, selector=Chosen(node_id))
    asking.exchange(Fetched(error))
    before, refreshed = asking.now_ms, asking.refreshed
    assert asking.session.position == FetchPosition(100)
    asking.exchange(fetched(batch(100, 100)))
    assert asking.refreshed == refreshed + 1
    assert asking.now_ms == before + 100
    assert asking.read == [(100, 5)]
    assert not asking.reports


def test_a_follower_that_lags_is_asked_again_and_in_the_end_left():
    asking = reading(100, selector=Chosen(3))
    asked = [asking.exchange(Fetched(ErrorCode.OFFSET_NOT_AVAILABLE)).node_id for _ in range(12)]
    assert asked == [3] * 10 + [1] * 2


@pytest.mark.scenario("K16")
def test_an_epoch_unknown_to_the_replica_is_waited_for():
    asking = reading(100)
    asking.exchange(Fetched(ErrorCode.UNKNOWN_LEADER_EPOCH))
    refreshed = asking.refreshed
    assert asking.exchange(fetched(batch(100, 100))) == Fetch(1, FetchPosition(100), 5)
    assert asking.refreshed == refreshed


@pytest.mark.scenario("K17")
def test_the_replica_that_the_leader_prefers_is_fetched_from_next():
    asking = reading(100, rack="r1")
    assert asking.exchange(fetched(preferred=2)) == Fetch(1, FetchPosition(100), 5, "r1")
    assert asking.exchange(fetched(preferred=3)).node_id == 2
    assert asking.exchange(fetched()).node_id == 2, "only a leader's word counts"


@pytest.mark.scenario("K17")
def test_a_preferred_replica_that_the_metadata_does_not_know_is_the_leaders_to_serve():
    asking = reading(100)
    asking.exchange(fetched(preferred=9))
    assert asking.exchange(fetched()).node_id == 1
    assert asking.refreshed == 1


@pytest.mark.scenario("K18")
def test_a_preferred_replica_holds_to_the_end_of_its_lease_and_another_replaces_it():
    asking = reading(100)
    replicas = asking.session._replicas
    assert replicas.prefer(2, 1000)
    assert replicas.node(1000 + LEASE_MS) == 2
    assert replicas.node(1001 + LEASE_MS) == 1
    assert replicas.prefer(3, 2000)
    assert replicas.node(1001 + LEASE_MS) == 3


@pytest.mark.scenario("K19")
@pytest.mark.parametrize("error", [ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_a_preferred_replica_that_fails_gives_way_to_the_leader(error):
    asking = reading(100, rack="r1")
    asking.exchange(fetched(preferred=2))
    assert asking.exchange(Fetched(error)).node_id == 2
    # With the rack in the request, the leader would name the failed replica again.
    assert asking.ask()[1] == Fetch(1, FetchPosition(100), 5, "")


def test_a_new_leader_ends_the_lease_of_a_preferred_replica():
    asking = reading(100)
    asking.exchange(fetched(preferred=2))
    asking.session.learn(metadata(leader=3, epoch=6))
    assert asking.ask()[1].node_id == 3


@pytest.mark.scenario("K20")
def test_the_position_carries_the_epoch_of_the_last_record_read():
    asking = reading(0)
    asking.exchange(fetched(batch(0, 2, 1)))
    assert asking.session.position == FetchPosition(3, 1)
    assert asking.read == [(0, 1), (1, 1), (2, 1)]


@pytest.mark.scenario("K21")
def test_a_fetch_carries_the_leader_epoch_of_the_metadata():
    asking = reading(10)
    assert asking.exchange(fetched()).leader_epoch == 5
    asking.session.learn(metadata(epoch=6))
    assert asking.ask()[1].leader_epoch == 6


@pytest.mark.scenario("K22")
def test_records_that_were_compacted_away_are_stepped_over():
    asking = reading(0)
    asking.exchange(fetched(batch(0, 9, 5, offsets=(2, 7))))
    assert asking.read == [(2, 5), (7, 5)]
    assert asking.session.position == FetchPosition(10, 5)


def test_a_batch_that_begins_below_the_position_gives_the_records_from_there():
    asking = reading(3)
    asking.exchange(fetched(batch(0, 1), batch(2, 4), batch(5, 5, is_control=True)))
    assert asking.read == [(3, 5), (4, 5), (5, 5)]


def test_a_batch_that_is_cut_short_waits_for_the_next_fetch():
    asking = reading(0)
    asking.exchange(fetched(batch(0, 1), batch(2, 3)[:-1]))
    assert asking.session.position == FetchPosition(2, 5)


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (batch(0, 1)[:-1] + b"\xff", CorruptDataError, "CRC is not that of its bytes"),
        (batch(5, 6) + batch(3, 4), CorruptDataError, "offset 3 instead of 7 or later"),
        (batch(0, 1)[:-1], TruncatedDataError, "not one whole batch"),
        (batch(0, 1)[:30], TruncatedDataError, "not one whole batch"),
    ],
)
def test_bytes_that_no_broker_should_send_are_an_error_and_keep_the_position(data, error, text):
    asking = reading(0, selector=Chosen(3))
    with pytest.raises(error, match=text):
        asking.exchange(fetched(data))
    assert asking.session.position == FetchPosition(0)
    assert asking.exchange(fetched(batch(0, 1))).node_id == 1
    assert len(asking.read) == 2


def test_metadata_is_asked_for_when_it_has_become_old():
    asking = reading(0)
    asking.exchange(fetched())
    refreshed = asking.refreshed
    asking.now_ms += LEASE_MS
    asking.exchange(fetched())
    assert asking.refreshed == refreshed + 1


def test_without_metadata_nothing_else_is_asked():
    asking = Asking(start=FetchPosition(3))
    first, ask = asking.session.next_ask(0)
    assert ask == RefreshMetadata()
    asking.answer(first, metadata(leader=-1))
    assert asking.session.next_ask(99) is None
    second, ask = asking.session.next_ask(100)
    assert ask == RefreshMetadata()
    asking.now_ms = 100
    asking.answer(second, metadata())
    assert asking.ask()[1] == Fetch(1, FetchPosition(3), 5)


def test_reading_goes_on_with_known_metadata_where_no_node_answers():
    asking = reading(0)
    asking.exchange(fetched())
    asking.now_ms += LEASE_MS
    ask_id, ask = asking.session.next_ask(asking.now_ms)
    assert ask == RefreshMetadata()
    asking.answer(ask_id, Metadata(None))
    assert asking.exchange(fetched(batch(0, 0))) == Fetch(1, FetchPosition(0), 5)


def test_the_high_watermark_is_that_of_the_replica_that_was_read():
    asking = reading(0)
    assert asking.session.high_watermark == -1
    asking.exchange(fetched(batch(0, 0), hw=7))
    assert asking.session.high_watermark == 7
