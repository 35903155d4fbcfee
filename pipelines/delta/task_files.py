"""Appends rows that tasks make: each task writes its Parquet files, and the driver commits the
files of all tasks at once.

With Spark's own writer each row goes from Python to the JVM, which encodes it again. The files are
ordinary ones, so everything that reads, merges or optimizes the table afterwards works as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic

from deltalake.exceptions import TableNotFoundError

from pipelines.delta.committing import WriteTarget, Written, commit
from pipelines.delta.conforming import open_conforming
from pipelines.lake import Lake
from pipelines.new_file import NewFile
from pipelines.runners.runner import Runner, nothing
from pipelines.runners.stage import Grain, Result, Stage, Unit
from pipelines.tables.contract import Contract
from replica.errors import UsageError, writing


@dataclass(frozen=True)
class Writing(Generic[Unit, Result]):
    """A stage whose function writes files of one table. The function takes a unit, and as `target`
    the WriteTarget."""

    name: str
    """As in Stage: the name that the summary and Spark's UI show."""
    grain: Grain
    """As in Stage: what a unit is, such as a cluster or a file."""
    function: Callable[..., Result]
    table: str
    """The table's name."""

    def to(self, target: WriteTarget) -> Stage[Unit, Result]:
        """The stage that writes to the target."""
        function = partial(self.function, target=target)
        return Stage(self.name, self.grain, function, writes=(self.table,), in_threads=True)


@dataclass(frozen=True)
class PendingAppend:
    """An append that began at a version of the table, and is committed upon that version."""

    lake: Lake
    contract: Contract
    version: int

    @staticmethod
    def begun(lake: Lake, contract: Contract) -> PendingAppend:
        """An append at the table's newest version.

        Raises UsageError where there is no such table, or where it isn't as the contract says.
        """
        try:
            table = open_conforming(lake, contract)
        except TableNotFoundError as error:
            path = lake.path_of(contract)
            raise UsageError(f"{path}: no Delta table to append to") from error
        return PendingAppend(lake, contract, table.version())

    def written_by(
        self,
        runner: Runner,
        stage: Writing[Unit, Result],
        units: Sequence[Unit],
        done: Callable[[Unit], None] = nothing,
    ) -> list[Result]:
        """The stage's result for each unit. The stage's function takes the unit, and as `target`
        the WriteTarget by which it may write a file of the table. After a write that fails or isn't
        committed, nothing refers to the files. done: as in Runner.run. Raises the errors of tasks,
        and UnwritableFileError for an OSError."""
        target = WriteTarget.of(self.lake, self.contract)
        with writing(target.folder):
            return runner.run(stage.to(target), units, done)

    def commit(self, files: Sequence[NewFile], *applications: str) -> Written:
        """Adds the files in one commit. applications: as in pipelines.delta.committing.commit."""
        return commit(self.lake, self.contract, files, "append", applications, self.version)
