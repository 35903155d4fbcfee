"""Requests and responses of the quorum's RPCs as values, without wire versions or topic arrays.

One replicated partition is meant throughout; replica.node checks topic and partition and translates
versions. Field names are those of Kafka's schemas, end offsets are exclusive, times in ms.
Responses to peers name the epoch and leader the answering replica knows, by which everyone learns
of newer epochs (KIP-595).
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
    """cluster_id: None where the sender names none, which is fine."""

    cluster_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Response:
    """epoch and leader as the answering replica knows them; NO_NODE for no leader."""

    error: ErrorCode = ErrorCode.NONE
    epoch: int = UNDEFINED_EPOCH
    leader_id: int = NO_NODE
    leader_endpoints: Endpoints = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest(_Request):
    """A vote in `epoch`, or a pre-vote: what would you say to my next epoch (KIP-996).

    voter: whom the candidate means, None in old versions. last_epoch and end_offset: the
    candidate's newest record, or snapshot.
    """

    epoch: int
    candidate: ReplicaKey
    voter: ReplicaKey | None = None
    last_epoch: int
    end_offset: int
    pre_vote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResponse(_Response):
    granted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest(_Request):
    """The leader of `epoch` makes itself known, again and again until voters fetch from it."""

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints = ()
    voter: ReplicaKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochResponse(_Response):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest(_Request):
    """The leader of `epoch` resigns; the first of its preferred successors may stand at once."""

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints = ()
    preferred_successors: tuple[ReplicaKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochResponse(_Response):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest(_Request):
    """A replica asks for records from its log end on.

    replica: node id NO_NODE for a replica without one. high_watermark: what the sender knows
    (Fetch v18, KIP-1166), -1 for nothing yet; None from older versions, which wait for records.
    """

    replica: ReplicaKey
    epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    max_wait_ms: int = 0
    max_bytes: int = 2**31 - 1
    high_watermark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse(_Response):
    """Exactly one of: records (perhaps none), a diverging epoch, a snapshot to fetch instead.

    diverging: (end offset, epoch) as the leader has it. high_watermark: None while unknown.
    batches: filled in by the host of the leader (Reply.read), decoded by that of the follower.
    """

    batches: tuple[Batch, ...] = ()
    high_watermark: int | None = None
    log_start: int = 0
    diverging: OffsetAndEpoch | None = None
    snapshot_id: OffsetAndEpoch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest(_Request):
    """A slice of a snapshot from byte `position` on (KIP-630)."""

    replica: ReplicaKey
    epoch: int
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse(_Response):
    """size: of the whole snapshot in bytes. data: not aligned to batches."""

    snapshot_id: OffsetAndEpoch | None = None
    size: int = 0
    position: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest(_Request):
    """What kraft.version does that node support? Asked before it may become a voter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse(_Response):
    """Both ends inclusive; 0 and 0 where the node doesn't know the feature."""

    min_kraft_version: int = 0
    max_kraft_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterRequest(_Request):
    """AddRaftVoter (KIP-853), from an administrator, or from the voter to be (Config.auto_join).

    ack_when_committed: whether the answer waits for the commit. The voter to be can't let it: two
    voters, of whom it is one, commit nothing before it fetches again (KIP-1186).
    """

    voter: ReplicaKey
    endpoints: Endpoints
    timeout_ms: int = 30_000
    ack_when_committed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoterRequest(_Request):
    """RemoveRaftVoter, from an administrator."""

    voter: ReplicaKey
    timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateVoterRequest(_Request):
    """UpdateRaftVoter: a voter tells the leader of `epoch` its endpoints and versions."""

    epoch: int
    voter: Voter


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeaturesRequest(_Request):
    """Finalize kraft.version; validate_only changes nothing."""

    kraft_version: int
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterChangeResponse(_Response):
    """To all four requests that change voters or kraft.version; one line says why not."""

    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumRequest(_Request):
    pass


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """KIP-836: end offset, and leader times in ms; -1 for what is not known.

    last_fetch: of the last fetch, -1 for the leader itself. last_caught_up: when the leader's log
    ended where the replica's last fetch is now.
    """

    replica: ReplicaKey
    log_end: int
    last_fetch: int
    last_caught_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumResponse(_Response):
    """high_watermark: -1 while unknown."""

    high_watermark: int = -1
    voters: tuple[ReplicaState, ...] = ()
    observers: tuple[ReplicaState, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchQuorumRecordsRequest(_Request):
    """Of KIP-595's draft, see replica.raft.leader.draft.

    replica: only its node id is known. fetch_epoch: of its last record.
    """

    replica: ReplicaKey
    epoch: int
    fetch_offset: int
    fetch_epoch: int
    is_follower: bool
    max_bytes: int = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchQuorumRecordsResponse(_Response):
    """next_fetch_offset, next_fetch_epoch: -1 unless OFFSET_OUT_OF_RANGE. first_dirty_offset: the
    end of the newest snapshot, so the first offset that is in no snapshot. last_caught_up: ms, -1
    while unknown. records: filled in by the host (Reply.read); valid with NOT_FOLLOWER too."""

    next_fetch_offset: int = -1
    next_fetch_epoch: int = -1
    records: bytes = b""
    high_watermark: int = -1
    first_dirty_offset: int = 0
    last_caught_up: int = -1


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
"""Everything that a peer or an administrator asks."""

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
