"""What is done to a captured quorum, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import ReplicaKey

Link = tuple[int, int]
"""Two nodes."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A directory for a voter that is gone: the log of node `source` under the identity `key`, with
    this quorum-state."""

    key: ReplicaKey
    source: int
    quorum_state: bytes


@dataclass(frozen=True, slots=True)
class Step:
    """One step; its fields are carried out in their order. Then the quorum runs until a leader has
    committed all that it holds and every node in its reach has the same, or for a while.

    heal: all cut links pass messages again. cut: nothing passes between these nodes. dead: they
    lose power. empty: they get an empty disk, with a new directory id; a node that runs loses power
    first. stand_ins: directories made of another's. start: power comes back to these; None stands
    for those whose disk the step replaces, in the first step for all that have a disk; never for
    those that it names dead. remove_voter, add_voter: what an administrator asks of the leader,
    once the quorum has settled (KIP-853). wait_ms: how long at most the quorum runs then, in
    simulated ms; None for the usual patience.
    """

    heal: bool = False
    cut: tuple[Link, ...] = ()
    dead: tuple[int, ...] = ()
    empty: tuple[int, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()
    start: tuple[int, ...] | None = None
    remove_voter: int | None = None
    add_voter: int | None = None
    wait_ms: int | None = None

    @property
    def replaced(self) -> tuple[int, ...]:
        """The nodes whose disk it replaces."""
        return (*self.empty, *(one.key.node_id for one in self.stand_ins))


@dataclass(frozen=True, slots=True)
class Scenario:
    """The steps, at least one, in order; without a word all nodes start, and nothing goes wrong."""

    steps: tuple[Step, ...] = (Step(),)

    @property
    def replaced(self) -> frozenset[int]:
        """The nodes whose disk some step replaces: what they held before is forgotten."""
        return frozenset(node_id for step in self.steps for node_id in step.replaced)

    def says(self, node_id: int) -> bool:
        """Whether it says what becomes of a node: where nobody captured the node's disk, no run can
        find out."""
        named = {node_id for step in self.steps for node_id in (*step.dead, *step.replaced)}
        removed = {step.remove_voter for step in self.steps}
        return self.steps[0].start is not None or node_id in named | removed
