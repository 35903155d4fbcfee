"""A scenario: a story that a quorum lives through, up to the moment at which disks tell most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from replica.simulate.invariants import Invariants
from replica.simulate.node import Layout
from replica.simulate.node_files import Files
from replica.simulate.scenarios.quorum import Capture, ScriptedQuorum, Unwatched

Script = Callable[[ScriptedQuorum], None]


@dataclass(frozen=True, slots=True)
class Tampering:
    """What no correct engine writes, put in the place of what it wrote.

    node_id: whose files. meaning: one sentence, for people. change: all files of the node to the
    same with one of them changed, renamed or removed.
    """

    node_id: int
    meaning: str
    change: Callable[[Files], Files]


@dataclass(frozen=True, slots=True)
class Scenario:
    """name: as users type it. story: one sentence. issues: where it happened or what is about it,
    by the keys of the trackers. findings: all rules of `check` that fire, notes included. compare:
    two nodes whose `diff` tells. is_safe: whether Raft's promises hold; they can't where voters
    lose their disks, or are told of different quorums.
    """

    name: str
    story: str
    issues: tuple[str, ...]
    script: Script
    findings: tuple[str, ...] = ()
    layout: Layout = field(default_factory=lambda: Layout(voters=3, observers=2))
    tampering: Tampering | None = None
    compare: tuple[int, int] = (1, 2)
    is_safe: bool = True

    def play(self) -> ScriptedQuorum:
        """Run the script; the quorum as it is at its end. The same each time."""
        watch = Invariants if self.is_safe else Unwatched
        quorum = ScriptedQuorum(self.name, self.layout, invariants=watch)
        self.script(quorum)
        return quorum

    def capture(self) -> Capture:
        """What is on the disks at the end, tampered with where the scenario says so."""
        return self.tampered(self.play().capture())

    def tampered(self, capture: Capture) -> Capture:
        """The same where the scenario tampers with nothing."""
        if self.tampering is None:
            return capture
        node_id = self.tampering.node_id
        changed = self.tampering.change(capture.files[node_id])
        return replace(capture, files={**capture.files, node_id: changed})
