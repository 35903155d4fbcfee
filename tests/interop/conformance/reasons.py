"""Why the core answers some requests otherwise than Kafka. Each reason has the answers that it
explains, and explains no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from replica.raft.epoch_bounds import MOST_AT_ONCE
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    UpdateFeaturesRequest,
    VoteRequest,
)
from tests.interop.conformance.exchanges import Exchange, Trace

Answer = Mapping[str, object]
"""An answer's facts by name (judge.py)."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason. explains: takes the trace, the exchange, Kafka's answer and all of the core's
    answers. kafka, ours: what each does. why: with Kafka's class, and the place in the core."""

    explains: Callable[[Trace, Exchange, Answer, Sequence[Answer]], bool]
    kafka: str
    ours: str
    why: str


_ENDS_WITHIN_US = 1_000_000


def reason_of(trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]) -> str:
    """The name of the reason for this difference; empty where there is none."""
    for name, reason in REASONS.items():
        if reason.explains(trace, exchange, kafka, ours):
            return name
    return ""


def _only(ours: Sequence[Answer], **facts: object) -> bool:
    """Whether all of the core's answers have these facts."""
    return all(answer.get(name) == value for answer in ours for name, value in facts.items())


def _refused_snapshot(
    trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]
) -> bool:
    is_snapshot = isinstance(exchange.request, FetchSnapshotRequest)
    is_refused = all(answer["error"] != "NONE" for answer in ours)
    return is_snapshot and kafka["error"] == "UNKNOWN_SERVER_ERROR" and is_refused


def _own_id(trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]) -> bool:
    request = exchange.request
    is_own = isinstance(request, VoteRequest) and request.candidate.node_id == exchange.node
    is_refused = kafka["error"] == "NONE" and kafka.get("granted") is False
    return is_own and is_refused and _only(ours, error="INVALID_REQUEST")


def _stands_again(trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]) -> bool:
    request = exchange.request
    if not isinstance(request, VoteRequest) or request.pre_vote:
        return False
    is_again = request.last_epoch == request.epoch == kafka.get("epoch") and kafka["leader"] == -1
    is_illegal = kafka["error"] == "INVALID_REQUEST"
    return is_again and is_illegal and _only(ours, error="NONE", granted=False)


def _negative_epoch(
    trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]
) -> bool:
    request = exchange.request
    is_negative = (
        isinstance(request, BeginQuorumEpochRequest | EndQuorumEpochRequest) and request.epoch < 0
    )
    is_fenced = kafka["error"] == "FENCED_LEADER_EPOCH"
    return is_negative and is_fenced and _only(ours, error="INVALID_REQUEST")


def _stranger(trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]) -> bool:
    request = exchange.request
    is_leader = isinstance(request, BeginQuorumEpochRequest | EndQuorumEpochRequest)
    is_stranger = is_leader and request.leader_id not in trace.replicas
    return is_stranger and _only(ours, error="BROKER_NOT_AVAILABLE")


def _stranger_raises(
    trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]
) -> bool:
    request = exchange.request
    is_stranger = isinstance(request, VoteRequest) and request.candidate.node_id not in (
        trace.replicas
    )
    is_refused = kafka.get("granted") is False and _only(ours, error="NONE", granted=False)
    return is_stranger and is_refused and kafka.get("epoch") == request.epoch


def _stranger_pre_votes(
    trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]
) -> bool:
    """Whether the configuration names all voters, so that no other node can become a voter."""
    request = exchange.request
    if not trace.is_static or not isinstance(request, VoteRequest) or not request.pre_vote:
        return False
    is_stranger = request.candidate.node_id not in trace.replicas
    same = all({**answer, "granted": True} == dict(kafka) for answer in ours)
    return is_stranger and same and kafka.get("granted") is True


def _begins_to_end(trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]) -> bool:
    """Whether the leader soon afterwards tells the other nodes of its end."""
    tells = any(
        isinstance(each.request, EndQuorumEpochRequest)
        and each.client == exchange.node
        and each.sent <= exchange.answered + _ENDS_WITHIN_US
        and each.sent >= exchange.asked
        for each in trace.exchanges
    )
    is_told = all(answer["error"] in ("NONE", "NOT_LEADER_OR_FOLLOWER") for answer in ours)
    return tells and is_told and kafka["error"] == "BROKER_NOT_AVAILABLE"


def _unexplained_epoch(
    trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]
) -> bool:
    request = exchange.request
    if not isinstance(request, VoteRequest) or not _only(ours, error="INVALID_REQUEST"):
        return False
    is_far = all(request.epoch > int(str(answer["epoch"])) + MOST_AT_ONCE for answer in ours)
    return is_far and kafka["epoch"] == request.epoch


def _resigned_leader(
    trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]
) -> bool:
    """Whether the leader that the node knows has told it of its end."""
    request = exchange.request
    if not isinstance(request, VoteRequest) or not request.pre_vote:
        return False
    has_ended = any(
        isinstance(each.request, EndQuorumEpochRequest)
        and each.node == exchange.node
        and each.request.epoch == request.epoch
        and each.asked <= exchange.answered
        for each in trace.exchanges
    )
    same = all({**answer, "granted": False} == dict(kafka) for answer in ours)
    return has_ended and same and kafka.get("granted") is False


def _asks_a_controller(
    trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]
) -> bool:
    is_about_version = isinstance(exchange.request, UpdateFeaturesRequest)
    is_refused = all(
        answer["error"] in ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT") for answer in ours
    )
    return is_about_version and is_refused and kafka["error"] == "NOT_CONTROLLER"


def _unregistered(trace: Trace, exchange: Exchange, kafka: Answer, ours: Sequence[Answer]) -> bool:
    """Whether the request names the version that is already in force, and Kafka refuses it."""
    request = exchange.request
    is_kept = isinstance(request, UpdateFeaturesRequest) and request.kraft_version == 0
    return is_kept and kafka["error"] == "INVALID_UPDATE_VERSION" and _only(ours, error="NONE")


REASONS: Mapping[str, Reason] = {
    "refused snapshots": Reason(
        _refused_snapshot,
        "UNKNOWN_SERVER_ERROR, without epoch and leader, in place of every refusal of "
        "FetchSnapshot",
        "the refusal itself: SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE, NOT_LEADER_OR_FOLLOWER, "
        "FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH",
        "a fault of Kafka 4.4.0: its refusal has no `unalignedRecords`, and "
        "FetchSnapshotResponseData.addSize fails on that (NullPointerException in the log of "
        "ControllerApis). kraftlake's follower takes that answer for a refusal "
        "(raft/dispatch.py)",
    ),
    "a vote for itself": Reason(
        _own_id,
        "refuses the vote without an error",
        "INVALID_REQUEST",
        "no other node has this id, so the sender is a second node with the same node.id: "
        "election.py counts it among illegal messages",
    ),
    "a candidate with a log of its epoch": Reason(
        _stands_again,
        "INVALID_REQUEST (KafkaRaftClient.handleVoteRequest)",
        "refuses the vote without an error, where it knows no leader to name",
        "a voter of Kafka's stands so after a restart (QuorumState.initialize looks at its vote "
        "before it looks at the leader), and that error would end its process "
        "(election.py, `_stands_again`)",
    ),
    "a negative epoch": Reason(
        _negative_epoch,
        "FENCED_LEADER_EPOCH",
        "INVALID_REQUEST",
        "no correct node sends it: quorum_epochs.py counts it among illegal messages",
    ),
    "a leader that is no voter": Reason(
        _stranger,
        "follows it (KafkaRaftClient.handleBeginQuorumEpochRequest asks only whether another "
        "leader of the epoch is known)",
        "BROKER_NOT_AVAILABLE, and stays in its epoch",
        "a node that the log doesn't name must not depose a leader; a real new leader asks again "
        "(request_checks.refuse_non_voter)",
    ),
    "a candidate that is no voter": Reason(
        _stranger_raises,
        "refuses the vote, and takes its epoch",
        "refuses the vote, and stays in its epoch, unless it is a voter and the log names the "
        "voters",
        "at kraft.version 0 no other node can become a voter, and an observer couldn't tell the "
        "voters of the newer epoch (request_checks.refuse_non_voter)",
    ),
    "a pre-vote for no voter": Reason(
        _stranger_pre_votes,
        "grants it, also at kraft.version 0 (UnattachedState.canGrantVote asks only for the log)",
        "refuses it at kraft.version 0, where the configuration names all voters",
        "no majority can elect the sender, so its epochs would only disturb "
        "(request_checks.refuse_non_voter)",
    ),
    "a leader that begins to end": Reason(
        _begins_to_end,
        "BROKER_NOT_AVAILABLE from the order to shut down until it resigns "
        "(KafkaRaftClient.validateLeaderOnlyRequest)",
        "answers until it resigns, in the step that is told of the shutdown",
        "the sender asks again in both cases (raft.py, `_handle_shutdown`)",
    ),
    "an epoch that no election explains": Reason(
        _unexplained_epoch,
        "takes any epoch up to 2^31 - 1",
        "INVALID_REQUEST, and stays in its epoch",
        "one message would use the epochs up, after which nobody is elected any more "
        "(epoch_bounds.py)",
    ),
    "the leader has said its end": Reason(
        _resigned_leader,
        "refuses pre-votes of the epoch (FollowerState.canGrantVote)",
        "grants them",
        "the leader itself has ended, so that nobody has to wait for the fetch timeout "
        "(quorum_epochs.handle_end)",
    ),
    "a version asked of another node": Reason(
        _asks_a_controller,
        "NOT_CONTROLLER, also from a leader that isn't the active controller yet",
        "NOT_LEADER_OR_FOLLOWER, or REQUEST_TIMED_OUT while nothing is committed in its epoch",
        "in Kafka the controller above the core answers (QuorumController); kraftlake's node "
        "forwards the request where its core doesn't lead (node/serve/forwarding.py)",
    ),
    "the version that is in force": Reason(
        _unregistered,
        "INVALID_UPDATE_VERSION until all controllers have registered "
        "(FeatureControlManager.reasonNotSupported)",
        "NONE, as nothing has to change",
        "registrations are records of the metadata, which the core doesn't read; for a version "
        "that would change it asks the voters' own UpdateRaftVoter "
        "(leader/voter_changes.handle_update_features)",
    ),
}
"""The reasons by name, as CONFORMANCE.md lists them."""
