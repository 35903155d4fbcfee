"""Notes the situations that a run has reached. A situation is: a replica in a role took a message
with an outcome, after a fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from replica.model.kafka_errors import ErrorCode
from replica.raft.effects import Effects
from replica.raft.inputs import Request, Response
from replica.raft.transitions import TRANSITIONS, Transition
from replica.simulate.broken import INVARIANTS
from replica.simulate.host import SimulatedHost
from replica.simulate.nemesis import FAULTS

NO_OUTCOME = "-"


class Coverage:
    """The situations of a run. reached: (role, message, outcome, fault) of each step.

    role: the role before the step.
    message: the type of the request, response or other input.
    outcome: why the role changed (replica.raft.transitions.TransitionCause); if the role didn't
        change, the error of the answer (replica.model.kafka_errors.ErrorCode); NO_OUTCOME without a
        change and an answer.
    fault: the newest fault of the run.
    transitions, faults: the number of times that each change of role and each fault happened.
    """

    def __init__(self) -> None:
        self.reached: set[tuple[str, str, str, str]] = set()
        self.transitions: Counter[Transition] = Counter()
        self.faults: Counter[str] = Counter()
        self._fault = "none"

    @property
    def texts(self) -> tuple[str, ...]:
        """The situations that runs have reached, each as four words, sorted."""
        return tuple(sorted(" ".join(words) for words in self.reached))

    def struck(self, fault: str) -> None:
        """Note that a fault has happened."""
        self._fault = fault
        self.faults[fault] += 1

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        """Add a step that a replica has just taken."""
        event, fault = host.taken, self._fault
        message = event.message if isinstance(event, Request | Response) else event
        role, name = host.former_role.__name__, type(message).__name__
        for transition in host.raft.transitions:
            self.transitions[transition] += 1
            self.reached.add((transition.of.__name__, name, transition.cause.name, fault))
        if not host.raft.transitions:
            refused = [
                reply.message.error.name
                for reply in effects.replies
                if reply.message.error is not ErrorCode.NONE
            ]
            self.reached.add((role, name, refused[0] if refused else NO_OUTCOME, fault))


ALL_TRANSITIONS = tuple(
    Transition(of, cause, to) for (of, cause), roles in TRANSITIONS.items() for to in roles
)
COUNTED: tuple[Transition | str, ...] = (*ALL_TRANSITIONS, *FAULTS, *INVARIANTS)
"""The names of the numbers in `counts`, in their order. Faults and invariants share no name."""


def counts(coverage: Coverage, judged: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of COUNTED, in their order. judged: the number of checks of each invariant, by
    its name."""
    return (
        *(coverage.transitions[transition] for transition in ALL_TRANSITIONS),
        *(coverage.faults[fault] for fault in FAULTS),
        *(judged.get(name, 0) for name in INVARIANTS),
    )
