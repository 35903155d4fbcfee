"""The steps of a rehearsal, which say what is done to a captured quorum."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import ReplicaKey

Link = tuple[int, int]
"""The link between two nodes, by their ids."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A directory for a voter that is lost. It has the log of node `source`, the identity `key`,
    and this content of quorum-state."""

    key: ReplicaKey
    source: int
    quorum_state: bytes


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """One step, whose fields are carried out in their order. Then the quorum runs until a leader
    has committed its whole log and every node that it reaches has the same log, until nothing
    changes any more, or until the step's time is over.

    heal: all cut links pass messages again. cut: pairs of nodes whose link passes no messages.
    dead: nodes that lose power. empty: nodes that get an empty disk with a new directory id; a
    running node loses power first. stand_ins: directories that are made of another node's log.
    start: nodes that get power; None for the nodes whose disk the step replaces, and in the first
    step for all nodes that have a disk. Nodes in `dead` never get power by None. remove_voter,
    add_voter: the nodes that an administrator asks the leader to remove from or to add to the
    voters, once the quorum has settled (KIP-853). wait_ms: how long the quorum runs at most, in
    simulated ms; None for PATIENCE_MS.
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
        """The nodes whose disk the step replaces."""
        return (*self.empty, *(one.key.node_id for one in self.stand_ins))


@dataclass(frozen=True, slots=True)
class Scenario:
    """The steps in order, at least one. By default all nodes start, and nothing goes wrong."""

    steps: tuple[ScenarioStep, ...] = (ScenarioStep(),)

    @property
    def replaced(self) -> frozenset[int]:
        """The nodes whose disk one of the steps replaces. The former content of these disks is
        lost."""
        return frozenset(node_id for step in self.steps for node_id in step.replaced)

    @property
    def replaces_late(self) -> bool:
        """Whether a step replaces a disk after another step, in which records may be committed."""
        return any(step.replaced for step in self.steps[1:])

    def says(self, node_id: int) -> bool:
        """Whether the steps say what becomes of a node. They have to say it for a node whose disk
        wasn't captured, because no run can find it out."""
        named = {node_id for step in self.steps for node_id in (*step.dead, *step.replaced)}
        removed = {step.remove_voter for step in self.steps}
        return self.steps[0].start is not None or node_id in named | removed
