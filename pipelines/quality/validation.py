"""Suites judged by Great Expectations: the only module that imports it, which takes seconds.

Great Expectations counts and collects what breaks a suite, in some Spark jobs for each table, so
only a table that is known to break its suite comes here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read at import: nothing is sent anywhere

import great_expectations as gx
import great_expectations.expectations as gxe
from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import ColumnMapExpectation
from great_expectations.expectations.expectation import Expectation as GreatExpectation
from great_expectations.expectations.metrics import (
    ColumnMapMetricProvider,
    column_condition_partial,
)
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.quality.expectation import (
    BETWEEN,
    IN_SET,
    ROW,
    ROW_COUNT,
    Action,
    Expectation,
    Suite,
)
from pipelines.quality.verdicts import Judged, Verdict

SAMPLE = 5
"""Keys that are kept of the rows which break an expectation."""

_SEVERITY = {Action.WARN: "info", Action.QUARANTINE: "warning", Action.STOP: "critical"}
"""Great Expectations' own three."""


class _RowSatisfies(ColumnMapMetricProvider):
    condition_metric_name = "row.satisfies"
    condition_value_keys = ("condition",)
    filter_column_isnull = False  # the condition says what NULL means

    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, condition: str, **_: Any) -> Column:
        return F.coalesce(F.expr(condition), F.lit(False))


class ExpectRowToSatisfy(ColumnMapExpectation):
    """An SQL condition over the row; `column` is the first that it is about."""

    condition: str
    map_metric = "row.satisfies"
    success_keys = ("condition", "mostly")


class Validation:
    """A run of suites; holds Great Expectations' context, which keeps nothing on disk."""

    def __init__(self) -> None:
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        # its default keeps a copy of every column in memory, where two or three are looked at
        self._source = self._context.data_sources.add_spark("lake", persist=False)

    def judge(self, suite: Suite, rows: DataFrame, row_count: int) -> Judged:
        """What breaks the suite. rows: from judged_rows, of one version of the table, which has
        row_count rows."""
        asset = self._source.add_dataframe_asset(suite.name)
        batch = asset.add_batch_definition_whole_dataframe("table").get_batch({"dataframe": rows})
        expected = gx.ExpectationSuite(
            suite.name, expectations=[_great(one) for one in suite.expectations]
        )
        result = batch.validate(expected, result_format=_detailed(suite))
        return Judged(suite, _verdicts(suite, result, row_count), result)


def _great(expectation: Expectation) -> GreatExpectation:
    common = {
        "severity": _SEVERITY[expectation.action],
        "description": expectation.meaning,
        "meta": {"action": expectation.action.value, "columns": list(expectation.columns)},
        **expectation.kwargs,
    }
    if expectation.type == ROW_COUNT:
        return gxe.ExpectTableRowCountToBeBetween(**common)
    kinds: Mapping[str, Callable[..., GreatExpectation]] = {
        ROW: ExpectRowToSatisfy,
        IN_SET: gxe.ExpectColumnValuesToBeInSet,
        BETWEEN: gxe.ExpectColumnValuesToBeBetween,
    }
    return kinds[expectation.type](column=expectation.columns[0], **common)


def _detailed(suite: Suite) -> dict[str, Any]:
    return {
        "result_format": "SUMMARY",
        "partial_unexpected_count": SAMPLE,
        "unexpected_index_column_names": list(suite.contract.keys),
        "return_unexpected_index_query": False,
    }


def _verdicts(
    suite: Suite, result: ExpectationSuiteValidationResult, row_count: int
) -> tuple[Verdict, ...]:
    """Great Expectations sorts its results by column: here they get the suite's order back."""
    told = {_identity(one.expectation_config): one for one in result.results}
    return tuple(
        _verdict(one, told[_identity(_great(one).configuration)], row_count, suite.contract.keys)
        for one in suite.expectations
    )


def _identity(configuration: Any) -> tuple[str, str]:
    return configuration.type, str(configuration.description)


def _verdict(expectation: Expectation, found: Any, rows: int, keys: Sequence[str]) -> Verdict:
    raised = _raised(found.exception_info or {})
    if raised is not None:
        raise RuntimeError(f"{expectation.meaning}: {raised}")
    details = found.result or {}
    sample = details.get("partial_unexpected_index_list") or ()
    return Verdict(
        expectation,
        success=bool(found.success),
        evaluated_rows=rows,
        unexpected_rows=int(details.get("unexpected_count") or 0),
        sample=tuple(_key_text(one, keys) for one in sample),
    )


def _raised(info: Mapping[str, Any]) -> str | None:
    """What went wrong where nothing was judged: the suite has a bug, or the table can't be read.

    Told of the expectation itself, or of each metric that could not be computed.
    """
    told = [info, *(one for one in info.values() if isinstance(one, Mapping))]
    messages = [str(one["exception_message"]) for one in told if one.get("raised_exception")]
    return messages[0] if messages else None


def _key_text(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return json.dumps({key: row[key] for key in keys}, ensure_ascii=False, default=str)
