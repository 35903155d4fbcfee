"""What records mean, transactions, refusals, and the image at an offset."""

from __future__ import annotations

import pytest

from replica.errors import UnsupportedDataError
from replica.format.control import (
    KRaftVersion,
    KRaftVoters,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
)
from replica.format.record import Record
from replica.metadata.image.image import EMPTY
from replica.metadata.image.replay import Replay, meaning
from replica.metadata.record import UnknownRecord, new_record
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter
from tests.replica.metadata.image.made import (
    ABORT,
    BEGIN,
    END,
    TOPIC,
    after,
    broker,
    broker_change,
    config,
    held,
    partition,
    remove_topic,
    topic,
)


def replayed(*records):  # type: ignore[no-untyped-def]
    replay = Replay()
    for offset, record in enumerate(records):
        replay.apply(offset, record)
    return replay


def test_an_open_transaction_shows_the_state_before_it() -> None:
    replay = replayed(topic(), BEGIN, partition(), remove_topic())
    assert replay.in_transaction
    assert replay.image() == after(topic())[0]


def test_the_end_of_a_transaction_shows_all_of_it() -> None:
    replay = replayed(topic(), BEGIN, partition(), config("1"), END)
    assert not replay.in_transaction
    assert replay.image() == after(topic(), partition(), config("1"))[0]


def test_an_aborted_transaction_leaves_no_trace() -> None:
    replay = replayed(topic(), partition(), config("1"), BEGIN, remove_topic(), broker(), ABORT)
    assert not replay.in_transaction
    assert replay.image() == after(topic(), partition(), config("1"))[0]
    # Nor a hidden one: the topic's removal still finds its partitions and configs.
    assert replay.apply(7, remove_topic()) is None
    assert replay.image() == EMPTY


def test_an_aborted_record_explains_no_later_refusal() -> None:
    _, (refusal,) = after(BEGIN, topic(), remove_topic(), ABORT, partition())
    assert (refusal.offset, refusal.because) == (4, ())
    _, (refusal,) = after(broker(), BEGIN, broker(), ABORT, broker_change(epoch=9))
    assert refusal.because == (0,)


def test_a_record_within_a_transaction_is_refused_when_it_comes() -> None:
    replay = replayed(BEGIN)
    refusal = replay.apply(1, partition())
    assert refusal is not None
    assert refusal.reason == f"there is no topic {TOPIC}"


def test_markers_out_of_place_are_refused_with_the_boundary_before() -> None:
    _, refusals = after(END, BEGIN, BEGIN, END, ABORT)
    assert [(r.offset, r.reason, r.because) for r in refusals] == [
        (0, "no transaction is open", ()),
        (2, "a transaction is open", (1,)),
        (4, "no transaction is open", (3,)),
    ]


VOTERS = KRaftVoters(
    0,
    (
        Voter(ReplicaKey(2, TOPIC), (Endpoint("B", "h", 2), Endpoint("A", "h", 1)), 0, 1),
        Voter(ReplicaKey(1, TOPIC), (), 0, 1),
    ),
)


def test_no_transaction_holds_back_the_voters() -> None:
    replay = replayed(BEGIN, VOTERS, KRaftVersion(0, 1), topic())
    assert held(replay.image(), "kraft_version") == {"": {"kRaftVersion": 1}}
    (voters,) = held(replay.image(), "voters").values()
    assert [voter["voterId"] for voter in voters["voters"]] == [1, 2]
    assert [e["name"] for e in voters["voters"][1]["endpoints"]] == ["A", "B"]
    replay.apply(4, ABORT)
    assert [e.offset for e in replay.image().entities()] == [1, 2]


def test_records_without_state_change_nothing() -> None:
    records = (
        LeaderChange(0, 1, (), ()),
        SnapshotHeader(0, 1),
        SnapshotFooter(0),
        new_record("NO_OP_RECORD", 0, {}),
    )
    assert after(*records) == (EMPTY, [])


def test_a_record_of_a_later_kafka_is_refused_by_name() -> None:
    _, (refusal,) = after(UnknownRecord(5, 99, b"?"))
    assert refusal.record_type == "PARTITION_CHANGE_RECORD"
    assert refusal.reason == "api key 5 version 99 is unknown to kraftlake"


def test_an_image_stays_as_it_was_while_the_replay_goes_on() -> None:
    replay = replayed(topic(), partition())
    image = replay.image()
    before = list(image.entities())
    replay.apply(2, remove_topic())
    assert list(image.entities()) == before
    follower = Replay(image)
    follower.apply(2, remove_topic())
    assert follower.image() == replay.image() == EMPTY
    assert list(image.entities()) == before


def control(code: int, value: str) -> Record:
    return Record(0, 0, code.to_bytes(4), bytes.fromhex(value))


def test_a_control_record_changes_the_image_by_its_bytes() -> None:
    """KRaftVersionRecord has its version, the kraft.version, and the count of tagged fields."""
    finalized = meaning(control(5, "0000 0001 00"), is_control=True)
    assert finalized == KRaftVersion(0, 1)
    assert held(replayed(finalized).image(), "kraft_version") == {"": {"kRaftVersion": 1}}


@pytest.mark.parametrize("later", [control(7, "0000 00"), control(5, "0063 0001 00")])
def test_a_control_record_of_a_later_kafka_has_no_meaning(later: Record) -> None:
    with pytest.raises(UnsupportedDataError, match="of a control record, is not known"):
        meaning(later, is_control=True)
