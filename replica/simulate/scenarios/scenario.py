"""A scenario: the script of an incident, which ends when the disks show most of the incident."""

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
    """A change of a node's files that no correct engine makes.

    meaning: the change as a sentence for people.
    change: a function that takes all files of the node, and returns them with one file changed,
        renamed or removed.
    """

    node_id: int
    meaning: str
    change: Callable[[Files], Files]


@dataclass(frozen=True, slots=True)
class NamedScenario:
    """A scenario.

    name: the name that users type.
    story: the incident in one or two sentences.
    issues: the issues about the incident in trackers.
    findings: the ids of all rules of `check` with a finding, including notes.
    compare: two nodes whose `diff` shows the incident.
    is_safe: whether the invariants hold. The invariants can't hold if voters lose their disks, or
        have different configurations.
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
        """Run the script. Returns the quorum at the end of the script, which is the same each
        time."""
        watch = Invariants if self.is_safe else Unwatched
        quorum = ScriptedQuorum(self.name, self.layout, invariants=watch)
        self.script(quorum)
        return quorum

    def capture(self) -> Capture:
        """The files on the disks at the end of the script, with the scenario's tampering."""
        return self.tampered(self.play().capture())

    def tampered(self, capture: Capture) -> Capture:
        """The capture with the scenario's tampering; the same capture for a scenario without
        tampering."""
        if self.tampering is None:
            return capture
        node_id = self.tampering.node_id
        changed = self.tampering.change(capture.files[node_id])
        return replace(capture, files={**capture.files, node_id: changed})
