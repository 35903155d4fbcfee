"""The steps of a rehearsal, which say what is done to a captured quorum."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import ReplicaKey

Link = tuple[int, int]
"""The link between two nodes, by their ids."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A new directory for a voter whose disk is lost. It has the log of node `source`, the identity
    `key`, and this content of quorum-state."""

    key: ReplicaKey
    source: int
    quorum_state: bytes


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """One step, whose fields are carried out in their order. Then the quorum runs until a leader
    has committed its whole log and every node that it reaches has the same log, until nothing
    changes any more, or until the step's time is over."""

    heal: bool = False
    """Whether all cut links pass messages again."""
    cut: tuple[Link, ...] = ()
    """Pairs of nodes whose link passes no messages."""
    dead: tuple[int, ...] = ()
    """Nodes that lose power."""
    empty: tuple[int, ...] = ()
    """Nodes that get an empty disk with a new directory id; a running node loses power first."""
    stand_ins: tuple[StandIn, ...] = ()
    """Directories that are made from another node's log."""
    start: tuple[int, ...] | None = None
    """Nodes that get power. None means the nodes whose disk the step replaces, and in the first
    step all nodes that have a disk; nodes in `dead` then get no power."""
    remove_voter: int | None = None
    """The node that an administrator asks the leader to remove from the voters, once the quorum has
    settled (KIP-853); None for no change."""
    add_voter: int | None = None
    """The node that an administrator asks the leader to add to the voters, once the quorum has
    settled (KIP-853); None for no change."""
    wait_ms: int | None = None
    """The longest time that the quorum runs, in simulated ms; None for PATIENCE_MS."""

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

    def starts_own_disk(self, node_id: int) -> bool:
        """Whether a step starts the node with the disk that was captured."""
        for number, step in enumerate(self.steps):
            if node_id in step.replaced:
                return False
            is_first_of_all = number == 0 and step.start is None and node_id not in step.dead
            if is_first_of_all or node_id in (step.start or ()):
                return True
        return False

    def says(self, node_id: int) -> bool:
        """Whether the steps say what happens to the node: a step takes its power, replaces its disk
        or removes it from the voters, or the first step lists all nodes that start. For each node
        whose disk wasn't captured, the steps must say this, because no run can show what the node
        would do."""
        named = {node_id for step in self.steps for node_id in (*step.dead, *step.replaced)}
        removed = {step.remove_voter for step in self.steps}
        return self.steps[0].start is not None or node_id in named | removed
