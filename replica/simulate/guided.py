"""A campaign that is guided by the situations that it has reached: half of its runs repeat the
beginning of a run that reached a new situation, and then continue with other random numbers.

The fuzzers AFL and libFuzzer keep and mutate inputs in the same way. Here the input is the seed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from random import Random

from replica.simulate.faulty_run import Fork, Result, run

_KEPT = 1000
"""The number of kept runs: the newest runs that reached a new situation."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that is planned. number: the run's number in the campaign."""

    number: int
    seed: int
    forks: tuple[Fork, ...] = ()


def carry_out(plan: PlannedRun, events: int) -> Result:
    """Do a run of a campaign, and return its result."""
    return replace(run(plan.seed, events, plan.forks), number=plan.number)


class Corpus:
    """The kept runs, from which other runs continue.

    reached: all situations that any run has reached.
    is_guided: whether runs continue from other runs. If they don't, the seed of each run is the
        run's number.
    forks: the forks of each run that is not guided.
    """

    def __init__(
        self, events: int, *, is_guided: bool = True, forks: tuple[Fork, ...] = ()
    ) -> None:
        self.reached: set[str] = set()
        self._events = events
        self._is_guided = is_guided
        self._forks = forks
        self._kept: deque[PlannedRun] = deque(maxlen=_KEPT)

    def plan(self, number: int) -> PlannedRun:
        """The run with this number. If runs are kept, every second run forks from a kept run."""
        if not self._is_guided or number % 2 == 0 or not self._kept:
            return PlannedRun(number, number, self._forks)
        random = Random(number)  # noqa: S311 - a repeatable choice, no secret
        kept = random.choice(self._kept)
        event = random.randrange(self._events)
        forks = tuple(fork for fork in kept.forks if fork.event < event)
        return PlannedRun(number, kept.seed, (*forks, Fork(event, number)))

    def add(self, result: Result) -> Result:
        """Add a result, and keep its run if it has reached a new situation and broken no invariant.
        Returns the result, with only the new situations in `reached`."""
        new = tuple(text for text in result.reached if text not in self.reached)
        self.reached.update(new)
        if new and result.broken is None:
            self._kept.append(PlannedRun(result.number, result.seed, result.forks))
        return replace(result, reached=new)
