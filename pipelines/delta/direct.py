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
from typing import Any, TypeVar

from deltalake import DeltaTable

from pipelines.data_files import NewFile
from pipelines.delta.committing import WriteTarget, Written, commit
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.tables.contract import Contract
from pipelines.tasks import Tasks
from replica.errors import KraftlakeError, UnwritableFileError, UsageError

Part = TypeVar("Part")
Result = TypeVar("Result")

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

    def in_tasks(
        self, tasks: Tasks, function: Callable[..., Result], parts: Sequence[Part]
    ) -> list[Result]:
        """The function's result for each part. The function takes the part, and as `target` the
        WriteTarget by which it may write a file of the table. After a write that fails or isn't
        committed, nothing refers to the files. Raises the errors of results_of."""
        target = WriteTarget.of(self.lake, self.contract)
        return results_of(tasks, partial(function, target=target), parts, target.folder)

    def commit(self, files: Sequence[NewFile], application: str | None = None) -> Written:
        """Adds the files in one commit. application: as in pipelines.delta.committing.commit."""
        return commit(self.lake, self.contract, files, "append", application, self.version)


def results_of(
    tasks: Tasks, function: Callable[[Part], Result], parts: Sequence[Part], folder: str
) -> list[Result]:
    """The function's result for each part. The function may write files in the folder.

    Raises the KraftlakeError that a part raises, and UnwritableFileError for an OSError.
    """
    results = []
    for result in tasks.map(partial(_caught, function=function, folder=folder), parts):
        if isinstance(result, KraftlakeError):
            raise result
        results.append(result)
    return results


def _caught(
    part: Any, *, function: Callable[[Any], Result], folder: str
) -> Result | KraftlakeError:
    """Runs in a task. Our own errors become results, because Spark would hide them in a
    traceback."""
    try:
        return function(part)
    except KraftlakeError as error:
        return error
    except OSError as error:
        return UnwritableFileError(folder, error.strerror or str(error))


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
