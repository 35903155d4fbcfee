"""The base class of the two runners, `spark` and `local`: it runs a stage, and keeps its figures
for the summary."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.new_file import NewFile
from pipelines.runners.attempt import Attempted
from pipelines.runners.stage import Result, Stage, Unit


@dataclass(frozen=True, slots=True)
class StageRun:
    """One run of a stage, for the summary."""

    name: str
    grain: str
    units: int
    tasks: int
    """The number of Spark tasks, or of threads or processes, that shared the units."""
    rows: int
    """The number of rows in the data files that the units wrote."""
    files: int
    """The number of data files that the units wrote."""
    seconds: float
    """The wall-clock time of the stage."""


def files_in(result: Any) -> Sequence[NewFile]:
    """The data files that a unit wrote."""
    if isinstance(result, NewFile):
        return [result]
    files: Sequence[NewFile] = getattr(result, "files", ())
    return files


def nothing(_: Any) -> None:
    """Does nothing: the callback of `run` where the caller gives none."""


@dataclass
class Runner(ABC):
    """Runs stages."""

    name: str
    """The name of the engine, as a line on stderr shows it."""
    at_once: int
    """How many units run at the same time."""
    ran: list[StageRun] = field(default_factory=list, init=False)
    """The stages that have run so far."""

    def run(
        self,
        stage: Stage[Unit, Result],
        units: Sequence[Unit],
        done: Callable[[Unit], None] = nothing,
    ) -> list[Result]:
        """The result of each unit, in the order of the units. done: is called with each unit that
        is done, in the order of the units. Raises the error of the first unit that failed: a
        KraftlakeError, OSError or TaskError. After an error no result of the stage counts."""
        if not units:
            return []
        started = time.monotonic()
        results: list[Result] = []
        for unit, one in zip(units, self._attempted(stage, units), strict=True):
            if one.error is not None:
                raise one.error
            results.append(one.result)
            done(unit)
        self.note(stage, results, self.tasks_of(stage, units), time.monotonic() - started)
        return results

    def note(
        self,
        stage: Stage[Any, Any],
        results: Sequence[Any],
        tasks: int,
        seconds: float,
    ) -> None:
        """Keeps the figures of one run of a stage for the summary. seconds: by the clock."""
        files = [file for result in results for file in files_in(result)]
        rows = sum(file.row_count for file in files)
        about = stage.name, stage.grain.value, len(results), tasks, rows, len(files)
        self.ran.append(StageRun(*about, seconds))

    @abstractmethod
    def _attempted(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> Iterator[Attempted]:
        """The result or error of each unit, in the order of the units."""

    @abstractmethod
    def tasks_of(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> int:
        """The number of tasks that share the units."""
