"""Append for bulk loads: the tasks that decode write the Parquet files, and the driver commits
them.

With Spark's own writer each row goes from Python to the JVM, which encodes it again. The files are
ordinary ones, so everything that reads, merges or optimizes the table afterwards works as before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from deltalake import DeltaTable

from pipelines.data_files import NewFile
from pipelines.delta.committing import WriteTarget, Written, commit
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.runners.runner import Runner, nothing
from pipelines.runners.stage import Grain, Result, Stage, Unit
from pipelines.tables.contract import Contract
from replica.errors import UsageError, writing

_HARMLESS = (
    "appendOnly", "changeDataFeed", "deletionVectors", "domainMetadata", "timestampNtz",
    "vacuumProtocolCheck", "variantType", "variantType-preview", "allowColumnDefaults",
)  # fmt: skip
"""Writer features of Delta's protocol that added files can't break. delta-rs commits to tables with
them."""
_JUDGED = (
    "invariants", "checkConstraints", "generatedColumns", "identityColumns", "columnMapping",
)  # fmt: skip
"""Writer features that are refused only where the table makes use of them."""
_COLUMN_RULES = ("delta.invariants", "delta.generationExpression", "delta.identity.")


@dataclass(frozen=True)
class Writing(Generic[Unit, Result]):
    """A stage whose function writes files of one table. The function takes a unit, and as `target`
    the WriteTarget. name, grain: as in Stage. table: the table's name."""

    name: str
    grain: Grain
    function: Callable[..., Result]
    table: str

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

        Raises UsageError where there is no such table, or where it has rules for its rows that only
        Spark's writer enforces.
        """
        table = open_if_there(lake, contract.name)
        path = lake.path_of(contract)
        if table is None:
            raise UsageError(f"{path}: no Delta table to append to")
        reason = refusal(set(table.protocol().writer_features or ()), _metadata(table))
        if reason is not None:
            raise UsageError(f"{path}: {reason}, so only Spark's own writer may append to it")
        return PendingAppend(lake, contract, table.version())

    def written_by(
        self,
        runner: Runner,
        stage: Writing[Unit, Result],
        units: Sequence[Unit],
        done: Callable[[Unit], None] = nothing,
    ) -> list[Result]:
        """The stage's result for each unit. Its function takes the unit, and as `target` the
        WriteTarget by which it may write a file of the table. After a write that fails or isn't
        committed, nothing refers to the files. done: as in Runner.run. Raises the errors of tasks,
        and UnwritableFileError for an OSError."""
        target = WriteTarget.of(self.lake, self.contract)
        with writing(target.folder):
            return runner.run(stage.to(target), units, done)

    def commit(self, files: Sequence[NewFile], application: str | None = None) -> Written:
        """Adds the files in one commit. application: as in pipelines.delta.committing.commit."""
        return commit(self.lake, self.contract, files, "append", application, self.version)


def _metadata(table: DeltaTable) -> dict[str, Any]:
    found = table.metadata()
    return {
        "schemaString": table.schema().to_json(),
        "configuration": found.configuration,
        "partitionColumns": found.partition_columns,
    }


def refusal(features: set[str], metadata: Mapping[str, Any]) -> str | None:
    """The reason for which rows may not be added by files alone; None where they may.

    features: the protocol's writer features; an older protocol has none. metadata: the table's
    metaData action.
    """
    configuration = metadata.get("configuration", {})
    if metadata.get("partitionColumns"):
        return "it has partitions"
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        return "it maps column names"
    if any(key.startswith("delta.constraints.") for key in configuration):
        return "it has a CHECK constraint"
    for column in json.loads(metadata["schemaString"])["fields"]:
        if any(key.startswith(_COLUMN_RULES) for key in column["metadata"]):
            return f"its column {column['name']} has a rule of its own"
    unknown = sorted(features - {*_HARMLESS, *_JUDGED})
    return f"it has {', '.join(unknown)}" if unknown else None
