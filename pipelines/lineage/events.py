"""RunEvents of OpenLineage 2: START and COMPLETE or FAIL of a job, and of its quality checks.

The changes of a job in a lake are read from the tables' Delta logs, so no job has to report them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pyarrow.dataset as ds
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import (
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
    set_producer,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    RunFacet,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    schema_dataset,
    symlinks_dataset,
)
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.uuid import generate_new_uuid

from pipelines.lake import OWN, Lake
from pipelines.lake.delta_rs import newest_versions, open_if_there
from pipelines.lineage.settings import own_config
from pipelines.own_tables.stored import contracts_in, own_names
from pipelines.tables.bronze import BRONZE
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUALITY_RESULTS
from pipelines.tables.of_a_lake import DERIVED

TABLES = (*BRONZE, *DERIVED)

_OF_MERGE = ("numTargetRowsInserted", "numTargetRowsUpdated")
_OF_WRITE = ("numOutputRows", "num_added_rows")
"""The names, in Delta and in delta-rs, of the operation metric that counts written rows. For a
MERGE it also counts rows that were only copied, so _OF_MERGE counts instead."""


_NO_PLACE_OF_CODE = {"facets": {"source_code_location": {"disabled": True}}}
"""Settings without the facet of the code's place: OpenLineage would take the git repository of the
current folder."""


class _Client(OpenLineageClient):
    """A client that reads no settings from the current folder."""

    @staticmethod
    def _find_yaml_config_path() -> str | None:
        named = os.environ.get("OPENLINEAGE_CONFIG") or str(own_config())
        return named if os.path.isfile(named) else None


@dataclass(frozen=True)
class TableState:
    """A table at one version, for an event."""

    contract: Contract
    version: int
    rows: int | None = None
    """How many rows were written since an earlier version; None where the caller didn't ask for the
    number."""


def tables_in(lake: Lake) -> tuple[Contract, ...]:
    """The tables of kraftlake that the lake may have, and the own tables that it has."""
    own = own_names(lake) if lake.has_folder(OWN) else ()
    return (*TABLES, *contracts_in(lake, own))


def versions(lake: Lake) -> dict[str, int]:
    """The newest version of each table that the lake has, by table name."""
    return newest_versions(lake, (contract.name for contract in tables_in(lake)))


def changed_tables(lake: Lake, before: Mapping[str, int]) -> list[TableState]:
    """The tables that have commits after the versions in `before`, and the number of rows that
    these commits wrote."""
    states = []
    for contract in tables_in(lake):
        table = open_if_there(lake, contract.name)
        known = before.get(contract.name, -1)
        if table is not None and table.version() > known:
            commits = [one for one in table.history() if one["version"] > known]
            rows = sum(rows_written(one.get("operationMetrics") or {}) for one in commits)
            states.append(TableState(contract, table.version(), rows))
    return states


def rows_written(metrics: Mapping[str, Any]) -> int:
    """The number of rows that a commit added or changed, by its operation metrics."""
    names = _OF_MERGE if _OF_MERGE[0] in metrics else _OF_WRITE
    return sum(int(metrics.get(name) or 0) for name in names)


def assertions(lake: Lake, run_id: str) -> list[dict[str, Any]]:
    """The run's rows of gold.quality_results; none where the run judged nothing."""
    table = open_if_there(lake, QUALITY_RESULTS.name)
    if table is None:
        return []
    rows = table.to_pyarrow_dataset().to_table(filter=ds.field("run_id") == run_id)
    found: list[dict[str, Any]] = rows.to_pylist()
    return found


PRODUCER = "urn:kraftlake"
_NAMESPACE = os.environ.get("OPENLINEAGE_NAMESPACE", "kraftlake")
_JOB_TYPE = job_type_job.JobTypeJobFacet("BATCH", "KRAFTLAKE", "JOB")
_SEVERITY = {"warn": "warn", "quarantine": "warn", "stop": "error"}


class Events:
    """The events of one run of a job. Making this object sends START. The constructor and the
    methods raise the transport's errors.

    file: the file to which events are appended; "" where OpenLineage's own settings name the place.
    paths, tables: as in job_events.
    """

    def __init__(
        self, job: str, run_id: str, lake: Lake, file: str, paths: Sequence[str], tables: str | None
    ) -> None:
        self._job, self._run_id, self._lake = job, run_id, lake
        self._before = versions(lake)
        read = [
            TableState(one, self._before[one.name])
            for one in tables_in(lake)
            if tables in (one.name, one.schema_name) and one.name in self._before
        ]
        self._inputs = [
            *(InputDataset(*_named(path)) for path in paths),
            *(read_table(lake, one) for one in read),
        ]
        transport = FileTransport(FileConfig(log_file_path=file, append=True)) if file else None
        set_producer(PRODUCER)  # the producer of facets; `_emit` names the producer of events
        self._client = _Client(transport=transport, config=_NO_PLACE_OF_CODE)
        self._emit(RunState.START, job, run_id, inputs=self._inputs)

    def end(self, writes: Sequence[str], failure: str | None) -> None:
        """Ends the events: the job is done, or has failed. Sends all events that are left.

        writes: files, folders or URIs that the job has written besides the lake's tables; a topic
        is kafka://HOST:PORT/TOPIC. failure: the text of the job's error; None if it succeeded.
        """
        outputs = [
            *(written_table(self._lake, one) for one in changed_tables(self._lake, self._before)),
            *(OutputDataset(*_named(path)) for path in writes),
        ]
        state = RunState.COMPLETE
        facets: dict[str, RunFacet] = {}
        if failure is not None:
            error = error_message_run.ErrorMessageRunFacet(failure, "PYTHON")
            state, facets = RunState.FAIL, {"errorMessage": error}
        self._emit(state, self._job, self._run_id, facets, self._inputs, outputs)
        found = assertions(self._lake, self._run_id)
        if found:
            self._tell_quality(found)
        self._client.close()

    def _tell_quality(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Sends the job's quality checks, as a separate run whose parent is the job's run. found:
        from `assertions`."""
        run_id = str(generate_new_uuid())
        parent = parent_run.ParentRunFacet(
            parent_run.Run(self._run_id), parent_run.Job(_NAMESPACE, self._job)
        )
        newest = versions(self._lake)
        by_table = {
            one: [row for row in found if row["table_name"] == one.name]
            for one in tables_in(self._lake)
        }
        inputs = [
            read_table(self._lake, TableState(one, newest[one.name]), rows)
            for one, rows in by_table.items()
            if rows
        ]
        for state in (RunState.START, RunState.COMPLETE):
            told = inputs if state is RunState.COMPLETE else []
            self._emit(state, f"{self._job}.quality", run_id, {"parent": parent}, told)

    def _emit(
        self,
        state: RunState,
        job: str,
        run_id: str,
        facets: Mapping[str, RunFacet] | None = None,
        inputs: Sequence[InputDataset] = (),
        outputs: Sequence[OutputDataset] = (),
    ) -> None:
        self._client.emit(
            RunEvent(
                eventTime=datetime.now(UTC).isoformat(),
                run=Run(run_id, dict(facets or {})),
                job=Job(_NAMESPACE, job, {"jobType": _JOB_TYPE}),
                eventType=state,
                inputs=list(inputs),
                outputs=list(outputs),
                producer=PRODUCER,
            )
        )


def read_table(
    lake: Lake, table: TableState, found: Sequence[Mapping[str, Any]] = ()
) -> InputDataset:
    """A table that a job reads. found: the table's rows of gold.quality_results."""
    asserted = [
        data_quality_assertions_dataset.Assertion(
            assertion=one["expectation"],
            success=one["success"],
            column=one["columns"][0] if len(one["columns"]) == 1 else None,
            severity=_SEVERITY[one["action"]],
            name=one["meaning"],
            actual=f"{one['unexpected_rows']} unexpected rows",
        )
        for one in found
    ]
    facets: dict[str, InputDatasetFacet] = {
        "dataQualityAssertions": (
            data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(asserted)
        )
    }
    return InputDataset(
        *_named(lake.table_uri(table.contract.name)),
        inputFacets=facets if asserted else {},
        facets=_table_facets(lake, table),
    )


def written_table(lake: Lake, table: TableState) -> OutputDataset:
    """A table that a job wrote."""
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(table.rows)
    return OutputDataset(
        *_named(lake.table_uri(table.contract.name)),
        outputFacets={"outputStatistics": statistics},
        facets=_table_facets(lake, table),
    )


def _table_facets(lake: Lake, table: TableState) -> dict[str, DatasetFacet]:
    name = symlinks_dataset.Identifier(lake.place, table.contract.name, "TABLE")
    return {
        "schema": _schema(table.contract),
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(str(table.version)),
        "symlinks": symlinks_dataset.SymlinksDatasetFacet([name]),
    }


def _schema(contract: Contract) -> schema_dataset.SchemaDatasetFacet:
    return schema_dataset.SchemaDatasetFacet(
        [
            schema_dataset.SchemaDatasetFacetFields(one.name, one.type, one.description)
            for one in contract.columns
        ]
    )


def _named(path: str) -> tuple[str, str]:
    """The namespace and name of a dataset, as OpenLineage names files and objects."""
    if "://" not in path:
        return "file", os.path.abspath(path)
    parts = urlsplit(path)
    return f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/")
