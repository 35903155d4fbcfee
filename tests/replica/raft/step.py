"""What a test keeps of each step of a core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replica.model.voters import VoterSet
from replica.raft.effects import Effects
from replica.raft.inputs import Input
from replica.raft.mistakes import Offence
from replica.raft.transitions import Role


@dataclass(frozen=True)
class Step:
    """One step of a core: the time (ms), the input, the effects, and the core's state
    afterwards."""

    now: int
    event: Input
    effects: Effects
    role: Role
    voters: VoterSet
    illegal: Mapping[Offence, int]
