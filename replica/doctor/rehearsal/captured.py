"""A captured quorum: the content of its nodes' disks, and the nodes that were not captured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.history.commitment import Commitment
from replica.history.log import ReplicaLog
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Endpoints, VoterSet, voter_set, without_directories
from replica.simulate.node_files import Files


@dataclass(frozen=True, slots=True)
class CapturedNode:
    """One captured node."""

    key: ReplicaKey
    files: Files
    """The node's files by their paths in its log directory. The folder of the metadata log has
    Kafka's name there."""
    log: ReplicaLog
    """The log in `files`, as a value."""


@dataclass(frozen=True, slots=True)
class CapturedQuorum:
    """All captured nodes of a quorum."""

    cluster_id: str
    nodes: Mapping[int, CapturedNode]
    """The nodes by their ids."""
    voters: VoterSet
    """The voters in force at the end of the newest log."""
    is_static: bool
    """Whether the configuration names the voters (kraft.version 0)."""
    commitment: Commitment
    """The commitment of the logs' records, by a recovery plan: which nodes may win an election is
    considered."""
    by_logs: Commitment
    """The commitment of the logs' records, by the logs alone: which node may win an election is not
    considered."""
    newest_timestamp: int
    """The newest time of a record, in ms since 1970 (UTC)."""
    quorum: KnownQuorum = field(default_factory=KnownQuorum)
    """What the logs and the other files prove."""

    @property
    def end_offset(self) -> int:
        """The end (exclusive) of the longest log."""
        return max(node.log.end_offset for node in self.nodes.values())

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of the captured nodes, and of the voters that were not captured."""
        return tuple(sorted({*self.nodes, *self.voters.ids}))

    @property
    def not_captured(self) -> tuple[int, ...]:
        """The ids of voters without a captured directory, ascending. Where the voter set names
        directory ids, only a directory with the voter's id counts."""
        captured = [node.key for node in self.nodes.values()]
        return tuple(
            voter.key.node_id
            for voter in self.voters
            if not any(voter.matches(key) for key in captured)
        )

    @property
    def static_voters(self) -> VoterSet:
        """The voters of the nodes' configuration; empty where the log names the voters. No log
        holds the addresses of these voters, so their endpoints are names in the rehearsal's own
        network."""
        if not self.is_static:
            return VoterSet()
        named = (replace(voter, endpoints=endpoints_of(voter.key)) for voter in self.voters)
        return without_directories(voter_set(named))


def endpoints_of(key: ReplicaKey) -> Endpoints:
    """Endpoints for a node whose address isn't known. Without endpoints no node follows a
    leader."""
    return (Endpoint("CONTROLLER", f"node{key.node_id}", 9093),)
