"""Finds the answers by which a process of Kafka ends, while the engine of this repository goes on.

Answers name leaders by node id alone. So a node whose disk was emptied, or restored from an older
copy, may be told that it leads an epoch which its disk doesn't know. Kafka takes such an answer for
a bug of its own, and ends the process (KafkaRaftClient.maybeTransition, seen in 4.4.0: "Received
request or response with leader ... which is inconsistent with current leader").
"""

from __future__ import annotations

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.raft.messages import PeerResponse
from replica.raft.roles import Leader
from replica.raft.transitions import Role

_OF_THIS_EPOCH = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
"""The errors with which Kafka reads the leader from an answer, even if the answer's epoch isn't
newer than its own."""


def ends_kafka(role: Role, local_id: int, answer: PeerResponse) -> bool:
    """Whether Kafka's process of node `local_id` ends by this answer."""
    if answer.leader_id != local_id or isinstance(role, Leader):
        return False
    if answer.epoch < role.epoch or answer.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        return False
    is_adopted = answer.epoch > role.epoch or answer.error in _OF_THIS_EPOCH
    return is_adopted or role.leader_id == NO_NODE


def reason_down(node_id: int, epoch: int) -> str:
    """The reason why the node doesn't run, as a sentence without a full stop."""
    return (
        f"Kafka ends its process, as another node names node {node_id} as the leader of epoch "
        f"{epoch}, of which the disk of node {node_id} knows nothing: start it again once the "
        "others have a newer epoch"
    )
