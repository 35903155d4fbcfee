"""Defines what one directory of a group says about itself. The rules about several directories
compare this."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from replica.history.log import LogBatch
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaId
from replica.model.voters import VoterKeys


@dataclass(frozen=True, slots=True)
class GroupMember:
    """What one directory of a group says about itself. Files have the names that the user gave
    them."""

    replica: ReplicaId
    shown: str
    """The name of the directory."""
    meta_properties: str
    """The name of meta.properties; without this file, the name of the directory."""
    quorum_state: str
    """The name of quorum-state; without this file, the name of the directory."""
    bootstrap_snapshot: str
    """The name of 0-0.checkpoint; without this file, the name of the directory."""
    leader_id: int | None = None
    """The leader that quorum-state names; None if it names no leader."""
    leader_epoch: int | None = None
    """The epoch in quorum-state; None if there is none."""
    current_voters: tuple[int, ...] = ()
    """The voters that quorum-state names; empty if it names no voters."""
    initial_voters: VoterKeys = frozenset()
    """The voters that 0-0.checkpoint names; empty if the node was formatted without initial voters,
    or belongs to a static quorum."""
    first_offset: int | None = None
    """The first offset in the directory's log; None for an empty log, and if the log was not read
    (see members_of)."""
    entries: Mapping[int, LogBatch] = field(default_factory=dict, hash=False)
    """The batches of this log that are also the first batch of a log of the group, by their base
    offsets; empty if the logs were not read."""
    voters: frozenset[int] = frozenset()
    """The node ids of the voters that the directory's files name."""
    log_end: OffsetAndEpoch | None = None
    """The end (exclusive) and the epoch of the directory's log; None if unknown."""
    has_records: bool = True
    """Whether the directory's log holds a record, or may have held one. 0-0.checkpoint, which
    formatting makes, doesn't count."""

    @property
    def parent(self) -> str:
        """The folder that holds the node's log directory."""
        return os.path.dirname(os.path.dirname(self.meta_properties))
