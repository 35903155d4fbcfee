"""The faults that the comparison with Kafka foretells, and that it excuses nothing else."""

from __future__ import annotations

import pytest

from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.replay import Replay
from replica.metadata.record import MetadataRecord, new_record
from tests.interop.known_faults import (
    ABORT_UNDONE,
    LEAKED_CONFIGS,
    LOST,
    LOST_CREDENTIAL,
    ORPHANS,
    Delta,
    TopicsByKafka,
    UnexplainedError,
    faults_in,
)
from tests.replica.metadata.image.made import (
    ABORT,
    BEGIN,
    OTHER_TOPIC,
    after,
    broker,
    config,
    feature,
    partition,
    remove_topic,
    topic,
)


def judged(
    *records: MetadataRecord,
    kafka: Image,
    refused: frozenset[int] = frozenset(),
    base: Image = EMPTY,
    failed: bool = False,
) -> frozenset[str]:
    numbered = tuple(enumerate(records))
    replay = Replay(base)
    ours = frozenset(offset for offset, record in numbered if replay.apply(offset, record))
    delta = Delta(base, numbered, ends_commit=True)
    return faults_in(delta, (replay.image(), ours), (kafka, refused), failed=failed)


def credential(name: str, record_type: str = "USER_SCRAM_CREDENTIAL_RECORD") -> MetadataRecord:
    return new_record(record_type, 0, {"name": name, "mechanism": 1})


def test_equal_images_show_no_fault() -> None:
    assert judged(topic(), broker(), kafka=after(topic(), broker())[0]) == frozenset()


@pytest.mark.parametrize("kafka", [(topic(),), (topic(), broker(epoch=11)), (topic(), broker(2))])
def test_a_difference_that_was_not_foretold_is_unexplained(kafka) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnexplainedError, match="images differ"):
        judged(topic(), broker(), kafka=after(*kafka)[0])


def test_a_refusal_by_one_side_only_is_unexplained() -> None:
    with pytest.raises(UnexplainedError, match="one side only"):
        judged(topic(), kafka=after(topic())[0], refused=frozenset({0}))


def test_configs_of_a_topic_configured_and_removed_in_one_delta_are_orphans() -> None:
    records = topic(), config("1"), remove_topic()
    leaked = after(config("1"))[0]
    assert judged(*records, kafka=leaked) == {ORPHANS}
    with pytest.raises(UnexplainedError):
        judged(*records, kafka=EMPTY)
    with pytest.raises(UnexplainedError):
        judged(*records, kafka=after(config("2"))[0])
    again = topic("orders", OTHER_TOPIC)
    assert judged(*records, again, kafka=after(config("1"), again)[0]) == {LEAKED_CONFIGS}


def test_a_replay_that_forgets_a_topic_s_configs_is_found_out() -> None:
    base = after(topic(), config("1"))[0]
    delta = Delta(base, ((0, remove_topic()),), ends_commit=True)
    forgetful = after(config("1"))[0], frozenset[int]()
    with pytest.raises(UnexplainedError, match="configs differ"):
        faults_in(delta, forgetful, (EMPTY, frozenset()), failed=False)


def test_a_topic_that_had_configs_before_leaves_none() -> None:
    base = after(topic(), config("1", "cleanup.policy"))[0]
    assert judged(config("1"), remove_topic(), base=base, kafka=EMPTY) == frozenset()
    with pytest.raises(UnexplainedError):
        judged(config("1"), remove_topic(), base=base, kafka=after(config("1"))[0])


def test_a_record_of_an_unknown_topic_loses_the_whole_delta() -> None:
    records = broker(), partition()
    refused = frozenset({1})
    assert judged(*records, kafka=EMPTY, refused=refused, failed=True) == {LOST}
    with pytest.raises(UnexplainedError, match="applying failed: False"):
        judged(*records, kafka=EMPTY, refused=refused)
    with pytest.raises(UnexplainedError, match="applying failed: True"):
        judged(broker(), kafka=EMPTY, failed=True)


def test_up_to_kafka_4_2_so_does_clearing_the_elr_of_a_topic_created_and_removed_before() -> None:
    clear = new_record("CLEAR_ELR_RECORD", 0, {"topicName": "orders"})
    numbered = tuple(enumerate((broker(), topic(), remove_topic(), clear)))
    left, refused = after(broker())[0], frozenset({3})
    older, newer = (Delta(EMPTY, numbered, True, keeps_created=kept) for kept in (True, False))
    lost, kept = (EMPTY, refused), (left, refused)
    assert faults_in(older, (left, refused), lost, failed=True) == {LOST}
    assert faults_in(newer, (left, refused), kept, failed=False) == frozenset()
    for delta, kafka, failed in ((older, kept, False), (newer, lost, True)):
        with pytest.raises(UnexplainedError, match="applying failed"):
            faults_in(delta, (left, refused), kafka, failed=failed)


def test_a_record_behind_an_abort_brings_back_what_was_aborted() -> None:
    records = BEGIN, broker(), ABORT, feature("f", 1)
    assert judged(*records, kafka=after(broker(), feature("f", 1))[0]) == {ABORT_UNDONE}
    with pytest.raises(UnexplainedError):
        judged(*records, kafka=after(feature("f", 1))[0])
    with pytest.raises(UnexplainedError):
        judged(*records[:3], kafka=after(broker())[0])


def test_a_mechanism_emptied_by_a_delta_loses_all_that_the_delta_sets() -> None:
    base = after(credential("alice"))[0]
    remove = credential("alice", "REMOVE_USER_SCRAM_CREDENTIAL_RECORD")
    records = remove, credential("bob"), credential("carol")
    assert judged(*records, base=base, kafka=EMPTY) == {LOST_CREDENTIAL}
    with pytest.raises(UnexplainedError, match="lost credentials"):
        judged(*records, base=base, kafka=after(credential("bob"))[0])
    with pytest.raises(UnexplainedError, match="lost credentials"):
        judged(*records[1:], base=base, kafka=base)


def test_two_topics_of_one_name_are_noticed() -> None:
    base = after(topic())[0]
    namesake = topic("orders", OTHER_TOPIC)
    twins = Delta(base, ((0, namesake),), ends_commit=True)
    follower = Delta(base, ((0, remove_topic()), (1, namesake)), ends_commit=True)
    assert TopicsByKafka(twins).has_namesakes
    assert not TopicsByKafka(follower).has_namesakes
