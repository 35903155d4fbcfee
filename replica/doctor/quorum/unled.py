"""Finds what the files of voters and observers show of a quorum without a leader: a leader who gave
up, and epochs in which nobody is known to lead."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from replica.doctor.quorum.known_voter import NOT_AT_HAND, KnownVoter
from replica.history.log import ReplicaLog
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import is_blocking


def gave_up_leading(
    newest: ReplicaLog, logs: Sequence[ReplicaLog], voters: Sequence[KnownVoter]
) -> ReplicaKey | None:
    """The leader who gave up (KnownQuorum.is_leaderless); None if none is known to have given up,
    or if a later leader is known or possible. A leader resigns if no majority fetches from it, and
    goes on to a newer epoch when it has heard of no other leader (Kafka: checkQuorumTimeout)."""
    epoch = newest.last_epoch
    told = sum(voter.doubt not in NOT_AT_HAND for voter in voters)
    if not is_blocking(told, len(voters)) or any(
        log.quorum_epoch > epoch and log.quorum_leader != NO_NODE for log in logs
    ):
        return None
    leaders = (log for log in logs if epoch in log.led_epochs and log.quorum_epoch > epoch)
    return next((log.key for log in leaders), None)


def in_unled_epochs(
    newest: ReplicaLog, logs: Sequence[ReplicaLog], voters: Sequence[KnownVoter]
) -> Iterator[int]:
    """The nodes of KnownQuorum.unled. A voter's node doesn't count if its disk can't be relied on,
    or isn't the voter's: its log may lack what the node knew. Epoch 0 is before the first
    election."""
    led = (log.quorum_epoch for log in logs if log.quorum_leader != NO_NODE)
    last = max(newest.last_epoch, *led, 0)
    doubted = {voter.key.node_id for voter in voters if voter.doubt is not None}
    return (
        log.key.node_id
        for log in logs
        if log.quorum_epoch > last and log.key.node_id not in doubted
    )


def nobody_led_after(
    newest: ReplicaLog, logs: Sequence[ReplicaLog], relied: Collection[ReplicaKey]
) -> bool:
    """Whether a leader of the newest log's last epoch is among the `relied` replicas, and no
    quorum-state shows a later election: each knows no newer epoch, or only the next one, for which
    it names no leader and no vote outside of the `relied` nodes. Then the leader's log has all that
    was written in its epoch, also each change of the voters. Each later leader would have needed
    the vote of a `relied` node, if there is no majority without them. logs: all logs."""
    epoch = newest.last_epoch
    own = [log for log in logs if log.key in relied]
    nodes = {NO_NODE, *(log.key.node_id for log in own)}
    return any(epoch in log.led_epochs for log in own) and all(
        log.quorum_epoch <= epoch
        or (log.quorum_epoch == epoch + 1 and {log.quorum_leader, log.quorum_vote} <= nodes)
        for log in logs
    )
