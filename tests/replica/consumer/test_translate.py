"""Requests and answers that a reader of a healthy quorum doesn't meet."""

import pytest

from replica.consumer.selector import PartitionView, ReplicaView
from replica.consumer.translate import (
    TopicPartition,
    UnexpectedAnswerError,
    read_end_of_epoch,
    read_error,
    read_fetch,
    read_listed_offset,
    read_metadata,
    with_lag,
)
from replica.consumer.values import EpochEnded, Fetched, ListedOffset
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.wire.describe_quorum import DescribedQuorum, DescribedReplica

PARTITION = TopicPartition("t", 1)


def broker(node_id, rack=None):
    return {"nodeId": node_id, "host": "h", "port": 9090 + node_id, "rack": rack}


def partition(index=1, leader=1, error=0):
    return {
        "errorCode": error,
        "partitionIndex": index,
        "leaderId": leader,
        "leaderEpoch": 7,
        "replicaNodes": [1, 2, 3],
        "isrNodes": [1, 3],
    }


def metadata(*partitions, brokers=(1, 2, 3), error=0):
    topic = {"errorCode": error, "name": "t", "topicId": "id", "partitions": list(partitions)}
    return {"brokers": [broker(node_id) for node_id in brokers], "topics": [topic]}


def test_metadata_tells_leader_epoch_and_who_is_in_sync():
    found = read_metadata(PARTITION, metadata(partition(0), partition(1)))
    assert (found.partition.leader_id, found.leader_epoch, found.topic_id) == (1, 7, "id")
    assert [(r.node_id, r.in_sync) for r in found.partition.replicas] == [
        (1, True),
        (2, False),
        (3, True),
    ]


def test_replicas_and_leaders_without_a_live_broker_are_left_out():
    found = read_metadata(PARTITION, metadata(partition(), brokers=(2, 3)))
    assert found.partition.leader_id == -1
    assert [r.node_id for r in found.partition.replicas] == [2, 3]


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (metadata(partition(0)), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"brokers": [], "topics": []}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (
            metadata(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ),
        (
            metadata(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ),
    ],
)
def test_metadata_without_the_partition_says_why(response, error):
    found = read_metadata(PARTITION, response)
    assert found.partition is None
    assert found.error is error


def fetched(**changed):
    found = {
        "errorCode": 0,
        "records": None,
        "highWatermark": 9,
        "logStartOffset": 2,
        "preferredReadReplica": -1,
        **changed,
    }
    return {"errorCode": 0, "responses": [{"partitions": [found]}]}


def test_an_empty_fetch_has_no_bytes_and_no_preferred_replica():
    assert read_fetch(fetched()) == Fetched(high_watermark=9, log_start=2)


def test_a_fetch_may_name_a_preferred_replica_zero():
    assert read_fetch(fetched(preferredReadReplica=0)).preferred == 0


def test_errors_of_a_fetch_stand_in_the_partition_or_above_it():
    inside = read_fetch(fetched(errorCode=ErrorCode.OFFSET_OUT_OF_RANGE))
    assert inside.error is ErrorCode.OFFSET_OUT_OF_RANGE
    above = {"errorCode": ErrorCode.UNKNOWN_TOPIC_ID, "responses": []}
    assert read_fetch(above).error is ErrorCode.UNKNOWN_TOPIC_ID


def test_an_answer_without_the_partition_is_an_error():
    with pytest.raises(UnexpectedAnswerError, match="for 0 partitions"):
        read_fetch({"errorCode": 0, "responses": []})


def test_an_error_that_no_reader_should_get_is_named():
    with pytest.raises(UnexpectedAnswerError, match="answered with CLUSTER_AUTHORIZATION_FAILED"):
        read_error(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def test_answers_about_offsets_and_ends_of_epochs_are_read():
    ended = {"errorCode": 0, "endOffset": 5, "leaderEpoch": 3}
    assert read_end_of_epoch({"topics": [{"partitions": [ended]}]}) == EpochEnded(
        end=OffsetAndEpoch(5, 3)
    )
    found = {"errorCode": ErrorCode.OFFSET_NOT_AVAILABLE, "offset": -1, "leaderEpoch": -1}
    assert read_listed_offset({"topics": [{"partitions": [found]}]}) == ListedOffset(
        ErrorCode.OFFSET_NOT_AVAILABLE
    )


def quorum(high_watermark, *ends, error=0):
    told = tuple(DescribedReplica(ReplicaKey(node_id), end, None, None) for node_id, end in ends)
    return DescribedQuorum(error, 1, 7, high_watermark, told[:2], told[2:])


def test_a_quorum_tells_lag_as_far_as_it_knows_it():
    view = PartitionView(1, tuple(ReplicaView(n, "h", 1) for n in (1, 2, 3)))
    seen = with_lag(view, quorum(10, (1, 12), (2, 7), (3, -1)))
    assert [replica.lag for replica in seen.replicas] == [0, 3, None]
    assert with_lag(view, quorum(-1, (1, 12))) == view
    assert with_lag(view, quorum(10, error=ErrorCode.INVALID_REQUEST)) == view
    assert with_lag(view, DescribedQuorum(42)) == view
