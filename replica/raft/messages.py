"""Requests and responses of the quorum's RPCs as values, without wire versions or topic arrays.

All messages are about the one replicated partition: replica.node checks topic and partition, and
translates versions. Field names are those of Kafka's schemas. End offsets are exclusive, and times
are in ms. Every response names the epoch and the leader that the answering replica knows. Replicas
learn newer epochs from responses (KIP-595).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from replica.model.batch import Batch
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoints, Voter


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """The field that all requests share."""

    cluster_id: str | None = None
    """The sender's cluster id; None if the sender names no cluster, which is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Response:
    """The fields that all responses share."""

    error: ErrorCode = ErrorCode.NONE
    epoch: int = UNDEFINED_EPOCH
    """The newest epoch that the answering replica knows."""
    leader_id: int = NO_NODE
    """The leader of `epoch`; NO_NODE if the replica knows no leader."""
    leader_endpoints: Endpoints = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest(_Request):
    """The candidate asks for a vote in `epoch`. With `pre_vote` the sender asks whether the voter
    would vote for the sender in the next epoch (KIP-996)."""

    epoch: int
    candidate: ReplicaKey
    voter: ReplicaKey | None = None
    """The replica that is asked; None in old versions of the request."""
    last_epoch: int
    """The epoch of the last record of the candidate's log, or of its snapshot if the snapshot is
    newer."""
    end_offset: int
    """The end offset (exclusive) of the candidate's log, or of its snapshot if the snapshot is
    newer."""
    pre_vote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResponse(_Response):
    granted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest(_Request):
    """The leader of `epoch` announces itself to another voter. The leader repeats the request from
    time to time."""

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints = ()
    voter: ReplicaKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochResponse(_Response):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest(_Request):
    """The leader of `epoch` resigns. The first preferred successor may start an election at
    once."""

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints = ()
    preferred_successors: tuple[ReplicaKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochResponse(_Response):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest(_Request):
    """A replica asks for records from `fetch_offset` on (inclusive), which is the end of its own
    log."""

    replica: ReplicaKey
    """The sender. Its node id is NO_NODE if it has no node id."""
    epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    """The epoch of the last record before `fetch_offset`."""
    max_wait_ms: int = 0
    max_bytes: int = 2**31 - 1
    high_watermark: int | None = None
    """The high watermark (exclusive) that the sender knows (Fetch v18, KIP-1166); -1 if the sender
    knows none; None in older versions of Fetch, which only wait for records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse(_Response):
    """The answer to a fetch: records (possibly none), a diverging epoch, or the id of a snapshot
    that the follower has to fetch first."""

    data: bytes | memoryview = b""
    """The bytes of the batches, which the leader's host reads from its log (Reply.read)."""
    batches: tuple[Batch, ...] = ()
    """The batches of `data` as values, which the follower's host decodes. A leader makes no values,
    because that would take seven times as long as reading the bytes."""
    high_watermark: int | None = None
    """The leader's high watermark (exclusive); None while the leader doesn't know it."""
    log_start: int = 0
    diverging: OffsetAndEpoch | None = None
    """For a follower whose log differs from the leader's log: an epoch and its end offset
    (exclusive) in the leader's log. None if the logs don't differ."""
    snapshot_id: OffsetAndEpoch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest(_Request):
    """A replica asks for a slice of a snapshot from byte `position` on (KIP-630)."""

    replica: ReplicaKey
    epoch: int
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse(_Response):
    """A slice of a snapshot."""

    snapshot_id: OffsetAndEpoch | None = None
    size: int = 0
    """The number of bytes of the whole snapshot."""
    position: int = 0
    data: bytes = b""
    """The bytes from byte `position` on; the slice may begin and end within a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest(_Request):
    """The leader asks a node which kraft.versions the node supports, before the node becomes a
    voter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse(_Response):
    """The lowest and the highest kraft.version that a node supports, both inclusive. Both are 0 if
    the node doesn't know the feature kraft.version."""

    min_kraft_version: int = 0
    max_kraft_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterRequest(_Request):
    """AddRaftVoter (KIP-853), from an administrator or from the new voter itself
    (Config.auto_join)."""

    voter: ReplicaKey
    endpoints: Endpoints
    timeout_ms: int = 30_000
    ack_when_committed: bool = True
    """Whether the answer waits for the commit. A new voter that asks for itself sets this field to
    False (KIP-1186): the new voter fetches again only after the answer, and with two voters nothing
    is committed before the new voter fetches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoterRequest(_Request):
    """RemoveRaftVoter (KIP-853), from an administrator, or from an observer that joins and finds an
    older directory of its own node among the voters (follower.voter_updates)."""

    voter: ReplicaKey
    timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateVoterRequest(_Request):
    """UpdateRaftVoter (KIP-853): a voter sends the leader of `epoch` its endpoints and the
    kraft.versions that it supports."""

    epoch: int
    voter: Voter


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeaturesRequest(_Request):
    """UpdateFeatures: an administrator finalizes kraft.version. With `validate_only` nothing
    changes."""

    kraft_version: int
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterChangeResponse(_Response):
    """The answer to the four requests that change voters or kraft.version."""

    message: str = ""
    """Why the leader refuses, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumRequest(_Request):
    pass


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """What the leader knows about the log of a replica (KIP-836). A field is -1 if the leader
    doesn't know its value."""

    replica: ReplicaKey
    log_end: int
    """The replica's log end (exclusive)."""
    last_fetch: int
    """The time of the replica's last fetch, in ms of the leader's clock; -1 for the leader
    itself."""
    last_caught_up: int
    """The last time (ms) at which the replica had all of the leader's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumResponse(_Response):
    """The log end and the times of the fetches of each voter and observer."""

    high_watermark: int = -1
    """The leader's high watermark (exclusive); -1 while the leader doesn't know it."""
    voters: tuple[ReplicaState, ...] = ()
    observers: tuple[ReplicaState, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchQuorumRecordsRequest(_Request):
    """The fetch of KIP-595's draft, which replica.raft.leader.draft answers."""

    replica: ReplicaKey
    """A key without a directory, because the draft sends none."""
    epoch: int
    fetch_offset: int
    fetch_epoch: int
    """The epoch of the sender's last record."""
    is_follower: bool
    max_bytes: int = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchQuorumRecordsResponse(_Response):
    """The answer to the draft's fetch."""

    next_fetch_offset: int = -1
    """The log end (exclusive) to which the sender has to truncate its log; -1 unless the error is
    OFFSET_OUT_OF_RANGE."""
    next_fetch_epoch: int = -1
    """The epoch of the record before next_fetch_offset; -1 unless the error is
    OFFSET_OUT_OF_RANGE."""
    records: bytes = b""
    """The bytes of the batches, which the host reads (Reply.read). The bytes are also valid with
    the error NOT_FOLLOWER."""
    high_watermark: int = -1
    first_dirty_offset: int = 0
    """The first offset that is in no snapshot: the end offset of the newest snapshot."""
    last_caught_up: int = -1
    """The time (ms) at which the sender last had all of the log; -1 while this time is unknown."""


PeerRequest: TypeAlias = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | ApiVersionsRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | UpdateVoterRequest
    | UpdateFeaturesRequest
    | DescribeQuorumRequest
    | FetchQuorumRecordsRequest
)
"""The requests of peers and administrators."""

PeerResponse: TypeAlias = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | ApiVersionsResponse
    | VoterChangeResponse
    | DescribeQuorumResponse
    | FetchQuorumRecordsResponse
)
"""Every answer to a PeerRequest."""

RESPONSE_OF: dict[type[PeerRequest], type[PeerResponse]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
    ApiVersionsRequest: ApiVersionsResponse,
    AddVoterRequest: VoterChangeResponse,
    RemoveVoterRequest: VoterChangeResponse,
    UpdateVoterRequest: VoterChangeResponse,
    UpdateFeaturesRequest: VoterChangeResponse,
    DescribeQuorumRequest: DescribeQuorumResponse,
    FetchQuorumRecordsRequest: FetchQuorumRecordsResponse,
}


def sender_of(request: PeerRequest) -> int:
    """The node id that a request names as its sender; NO_NODE if the request names no sender."""
    match request:
        case VoteRequest():
            return request.candidate.node_id
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return request.leader_id
        case FetchRequest() | FetchSnapshotRequest() | FetchQuorumRecordsRequest():
            return request.replica.node_id
        case UpdateVoterRequest():
            return request.voter.key.node_id
        case _:
            return NO_NODE
