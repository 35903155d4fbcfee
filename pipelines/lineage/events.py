"""RunEvents of OpenLineage 2: START and COMPLETE or FAIL of a job, and of its quality checks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

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

from pipelines.lake import Lake
from pipelines.lineage.lake import Assertion, TableState
from pipelines.tables.contract import Contract

PRODUCER = "urn:kraftlake"
_NAMESPACE = os.environ.get("OPENLINEAGE_NAMESPACE", "kraftlake")
_JOB_TYPE = job_type_job.JobTypeJobFacet("BATCH", "KRAFTLAKE", "JOB")
_SEVERITY = {"warn": "warn", "quarantine": "warn", "stop": "error"}


class Events:
    """The events of one run of a job. file: to append to; "" for OpenLineage's own settings.

    Every method raises what the transport raises.
    """

    def __init__(self, job: str, run_id: str, lake: Lake, file: str) -> None:
        transport = FileTransport(FileConfig(log_file_path=file, append=True)) if file else None
        set_producer(PRODUCER)  # of the facets; events are given it
        self._client = OpenLineageClient(transport=transport)
        self._job, self._run_id, self._lake = job, run_id, lake

    def start(self, inputs: Sequence[InputDataset]) -> None:
        """The job begins."""
        self._emit(RunState.START, self._job, self._run_id, inputs=inputs)

    def complete(self, inputs: Sequence[InputDataset], outputs: Sequence[OutputDataset]) -> None:
        """The job is done."""
        self._emit(RunState.COMPLETE, self._job, self._run_id, inputs=inputs, outputs=outputs)

    def fail(
        self, inputs: Sequence[InputDataset], outputs: Sequence[OutputDataset], message: str
    ) -> None:
        """The job ended early, having written `outputs`."""
        facets = {"errorMessage": error_message_run.ErrorMessageRunFacet(message, "PYTHON")}
        self._emit(RunState.FAIL, self._job, self._run_id, facets, inputs, outputs)

    def quality(self, judged: Sequence[TableState], found: Sequence[Assertion]) -> None:
        """The job's quality checks, as a run of their own below it; judged: the tables."""
        run_id = str(generate_new_uuid())
        parent = parent_run.ParentRunFacet(
            parent_run.Run(self._run_id), parent_run.Job(_NAMESPACE, self._job)
        )
        inputs = [
            read_table(self._lake, one, [a for a in found if a.table == one.contract.name])
            for one in judged
        ]
        for state in (RunState.START, RunState.COMPLETE):
            told = inputs if state is RunState.COMPLETE else []
            self._emit(state, f"{self._job}.quality", run_id, {"parent": parent}, told)

    def close(self) -> None:
        """Sends what is still to be sent."""
        self._client.close()

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


def read_path(path: str) -> InputDataset:
    """A file, folder or URI that a job reads."""
    return InputDataset(*_named(path))


def written_path(path: str) -> OutputDataset:
    """A file, folder or URI that a job writes; a topic is kafka://HOST:PORT/TOPIC."""
    return OutputDataset(*_named(path))


def read_table(lake: Lake, table: TableState, found: Sequence[Assertion] = ()) -> InputDataset:
    """A table that a job reads; found: what its quality checks say of it."""
    asserted = [
        data_quality_assertions_dataset.Assertion(
            assertion=one.expectation,
            success=one.success,
            column=one.columns[0] if len(one.columns) == 1 else None,
            severity=_SEVERITY[one.action],
            name=one.meaning,
            actual=f"{one.unexpected_rows} unexpected rows",
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
    """Namespace and name of a dataset, as OpenLineage names files and objects."""
    if "://" not in path:
        return "file", os.path.abspath(path)
    parts = urlsplit(path)
    return f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/")
