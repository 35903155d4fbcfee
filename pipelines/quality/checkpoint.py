"""The process in which Great Expectations validates what a job has counted.

The job's tasks have judged the rows. In this process each table's suite is an ExpectationSuite, one
Checkpoint validates the batch of a run's counts, and Great Expectations renders its
CheckpointResult as Data Docs. The process reads runs from standard input and writes answers to
standard output, each as a line of JSON (pipelines.quality.data_docs). It ends when its input ends,
also by the end of the job.

Great Expectations takes seconds to import. So this module imports nothing that needs Spark.
"""

# ruff: noqa: E402 - what comes before the imports makes them twice as fast
from __future__ import annotations

import gc
import importlib.util
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from queue import SimpleQueue
from types import ModuleType
from typing import Any

_SEEN_LATER = ("scipy.stats", "altair")
"""Modules that Great Expectations imports for distributions and charts, which no suite has."""


class _Later:
    """Finds the modules in _SEEN_LATER, and executes each when one of its names is first used."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module in _SEEN_LATER; None for all other modules."""
        spec = PathFinder.find_spec(name, path, target) if name in _SEEN_LATER else None
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


_LINES: SimpleQueue[bytes] = SimpleQueue()


def _read_input() -> None:
    # Python's own object can't be closed at an exit while this thread waits
    with open(0, "rb", closefd=False) as given:
        for line in given:
            _LINES.put(line)
    os._exit(1)  # the job has ended


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the job's
    threading.Thread(target=_read_input, daemon=True).start()
    sys.modules["pyspark"] = None  # type: ignore[assignment] # as where there is no Spark
    gc.disable()  # what is imported stays
sys.meta_path.insert(0, _Later)
os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read at import: nothing is sent anywhere
logging.getLogger("great_expectations").setLevel(logging.ERROR)  # it warns of our own classes

import great_expectations as gx
import great_expectations.expectations as gxe
import pandas as pd
from great_expectations.checkpoint import CheckpointResult
from great_expectations.core.freshness_diagnostics import (
    CheckpointFreshnessDiagnostics,
    ValidationDefinitionFreshnessDiagnostics,
)
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.data_context.store import ValidationResultsStore
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import ColumnMapExpectation
from great_expectations.expectations.expectation import Expectation as GreatExpectation
from great_expectations.expectations.expectation_configuration import parse_result_format
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.validator.metric_configuration import MetricConfiguration
from great_expectations.validator.validator import ValidationDependencies

from pipelines.quality.counted_run import CountedExpectation, CountedRun, CountedTable
from pipelines.quality.pages import pages

_COUNTS = "run.counts"
_SEVERITY = {"warn": "info", "quarantine": "warning", "stop": "critical"}
"""Great Expectations' own three severities, by action."""


class RunCounts(TableMetricProvider):
    """The metric by which this module's expectations are judged: the number of rows that break each
    expectation of each table. Its values are the batch that Great Expectations gets, so no query is
    needed."""

    metric_name = _COUNTS

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls, execution_engine: PandasExecutionEngine, metric_domain_kwargs: Any, **_: Any
    ) -> dict[tuple[str, str], dict[str, Any]]:
        rows, _compute, _accessor = execution_engine.get_compute_domain(
            metric_domain_kwargs, MetricDomainTypes.TABLE
        )
        return {(one["table"], one["meaning"]): one for one in rows.to_dict("records")}


class _Counted:
    """An expectation whose broken rows were counted before. The batch has the number of these rows.
    meta: has the table's name."""

    def get_validation_dependencies(self: Any, *_: Any, **given: Any) -> ValidationDependencies:
        # Great Expectations' own also asks for all arguments: a quarter of a run's time
        wanted = parse_result_format(given["runtime_configuration"]["result_format"])
        return ValidationDependencies({_COUNTS: MetricConfiguration(_COUNTS, {}, {})}, wanted)

    def _validate(self: Any, metrics: Mapping[str, Any], *_: Any, **__: Any) -> dict[str, Any]:
        counts = metrics[_COUNTS][self.meta["table"], self.description]
        rows, broken = counts["evaluated_rows"], counts["unexpected_rows"]
        result = {"element_count": rows, "unexpected_count": broken}
        return {
            "success": not broken,
            "result": result | _details(rows, broken, counts["sample_keys"]),
        }


def _details(rows: int, broken: int, sample: Sequence[str]) -> dict[str, Any]:
    """The part of Great Expectations' result about the rows that break an expectation. sample: keys
    of some of these rows."""
    percent = 100 * broken / rows if rows else 0.0
    return {
        "unexpected_percent": percent,
        "unexpected_percent_total": percent,
        "partial_unexpected_list": list(sample),
    }


class ExpectRowToSatisfy(_Counted, ColumnMapExpectation):
    """An SQL condition over the row. `column`: the first column that the condition is about."""

    condition: str
    map_metric = _COUNTS  # without a metric Great Expectations takes the class for a base class
    success_keys = ("condition", "mostly")


class ExpectColumnValuesToBeInSet(_Counted, gxe.ExpectColumnValuesToBeInSet):
    """Great Expectations' expectation of this name, judged by the rows that RunCounts counted."""


class ExpectColumnValuesToBeBetween(_Counted, gxe.ExpectColumnValuesToBeBetween):
    """Great Expectations' expectation of this name, judged by the rows that RunCounts counted."""


class ExpectTableRowCountToBeBetween(_Counted, gxe.ExpectTableRowCountToBeBetween):
    """Great Expectations' expectation of this name, judged by the rows that RunCounts counted."""

    def _validate(self: Any, metrics: Mapping[str, Any], *_: Any, **__: Any) -> dict[str, Any]:
        rows = metrics[_COUNTS][self.meta["table"], self.description]["evaluated_rows"]
        return {"success": rows >= self.min_value, "result": {"observed_value": rows}}


_CLASSES: Mapping[str, type[Any]] = {
    "expect_row_to_satisfy": ExpectRowToSatisfy,
    "expect_column_values_to_be_in_set": ExpectColumnValuesToBeInSet,
    "expect_column_values_to_be_between": ExpectColumnValuesToBeBetween,
    "expect_table_row_count_to_be_between": ExpectTableRowCountToBeBetween,
}


class _Nowhere(ValidationResultsStore):
    """A store that keeps no result. Great Expectations would need a quarter of a run's time to make
    the form in which a store keeps a result."""

    def store_validation_results(self, *_: Any, **__: Any) -> bool:
        return False


class _Definition(gx.ValidationDefinition):
    """A validation definition that isn't stored. Great Expectations would run only a stored
    definition that nobody has changed since."""

    def is_fresh(self) -> ValidationDefinitionFreshnessDiagnostics:
        return ValidationDefinitionFreshnessDiagnostics(errors=[])


class _Checkpoint(gx.Checkpoint):
    """A checkpoint that isn't stored. Great Expectations would run only a stored checkpoint that
    nobody has changed since."""

    def is_fresh(self) -> CheckpointFreshnessDiagnostics:
        return CheckpointFreshnessDiagnostics(errors=[])


def validated(run: CountedRun) -> CheckpointResult:
    """Great Expectations' result of a run. Raises RuntimeError where Great Expectations gives
    none."""
    context = gx.get_context(mode="ephemeral")
    context.stores[context.validation_results_store_name] = _Nowhere()
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("lake").add_dataframe_asset("counts of the run")
    batch = asset.add_batch_definition_whole_dataframe("run")
    definitions: list[gx.ValidationDefinition] = [
        _Definition(name=table["name"], data=batch, suite=_suite(table)) for table in run["tables"]
    ]
    checkpoint = _Checkpoint(
        name=run["job"], validation_definitions=definitions, result_format="SUMMARY"
    )
    counts = [{"table": t["name"], **one} for t in run["tables"] for one in t["expectations"]]
    result = checkpoint.run(batch_parameters={"dataframe": pd.DataFrame(counts)})
    for one in result.run_results.values():
        for found in one.results:
            told = found.exception_info or {}
            if told.get("raised_exception"):
                raise RuntimeError(told["exception_message"])
    return result


def _suite(table: CountedTable) -> gx.ExpectationSuite:
    expectations = [_expectation(table["name"], one) for one in table["expectations"]]
    return gx.ExpectationSuite(table["name"], expectations=expectations)


def _expectation(table: str, told: CountedExpectation) -> GreatExpectation:
    columns = told["columns"]
    expectation: GreatExpectation = _CLASSES[told["expectation"]](
        **({"column": columns[0]} if columns else {}),
        severity=_SEVERITY[told["action"]],
        description=told["meaning"],
        meta={"table": table, "action": told["action"], "columns": columns},
        **told["kwargs"],
    )
    return expectation


def answer(run: CountedRun) -> dict[str, Any]:
    """What the job gets for its run: `success`, whether all expectations hold, and `pages`, the
    HTML pages by file name."""
    result = validated(run)
    by_table = {one.suite_name: one for one in result.run_results.values()}
    return {"success": bool(result.success), "pages": pages(run, by_table)}


def main() -> None:
    """The process of Great Expectations: reads runs as lines of JSON from stdin, and writes a line
    of JSON with the result of each to stdout. It ends with the job that started it."""
    gc.freeze()
    gc.enable()
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # what Great Expectations prints must not look like an answer
        while True:
            asked = json.loads(_LINES.get())
            told = answer(asked["run"]) | {"number": asked["number"]}
            out.write(json.dumps(told).encode() + b"\n")
            out.flush()


if __name__ == "__main__":
    main()
