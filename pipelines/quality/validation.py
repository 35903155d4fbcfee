"""Suites judged by Great Expectations: the only module that imports it, which takes seconds.

Great Expectations counts and collects broken rows by Spark, with some jobs for each table, or by
pandas. So only a table that is known to break its suite comes here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read at import: nothing is sent anywhere

import great_expectations as gx
import great_expectations.expectations as gxe
import pandas as pd
from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.execution_engine import PandasExecutionEngine, SparkDFExecutionEngine
from great_expectations.expectations.expectation import ColumnMapExpectation
from great_expectations.expectations.expectation import Expectation as GreatExpectation
from great_expectations.expectations.metrics import (
    ColumnMapMetricProvider,
    column_condition_partial,
)
from great_expectations.expectations.metrics.metric_provider import metric_partial
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
from pipelines.quality.frames import verdict_column
from pipelines.quality.verdicts import ExpectationResult, TableResult

SAMPLE = 5
"""How many keys of broken rows are kept."""

_SEVERITY = {Action.WARN: "info", Action.QUARANTINE: "warning", Action.STOP: "critical"}
"""Great Expectations' own three severities."""
_NULLS = "column_values.nonnull.unexpected_count"
"""Great Expectations' name for the count of NULLs in a column."""


class _RowSatisfies(ColumnMapMetricProvider):
    condition_metric_name = "row.satisfies"
    condition_value_keys = ("condition",)
    filter_column_isnull = False  # the condition decides about NULL

    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, condition: str, **_: Any) -> Column:
        return F.coalesce(F.expr(condition), F.lit(False))

    @metric_partial(
        engine=PandasExecutionEngine,
        partial_fn_type=MetricPartialFunctionTypes.MAP_CONDITION_SERIES,
        domain_type=MetricDomainTypes.COLUMN,
    )
    def _pandas(
        cls,
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        **_: Any,
    ) -> Any:
        """The frame has a column that says which rows satisfy the condition."""
        rows, compute, accessor = execution_engine.get_compute_domain(
            metric_domain_kwargs, domain_type=MetricDomainTypes.COLUMN
        )
        verdict = rows[verdict_column(metric_value_kwargs["condition"])]
        return ~verdict, compute, accessor


class ExpectRowToSatisfy(ColumnMapExpectation):
    """An SQL condition over the row. `column`: the first column that the condition is about."""

    condition: str
    map_metric = "row.satisfies"
    success_keys = ("condition", "mostly")

    def _validate(self, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The condition decides what NULL means, so every row counts. Great Expectations' own rule
        compares the broken rows with the rows that have a value in the column: it calls a column of
        NULLs satisfied, and refuses its own result where more rows are broken than have a value."""
        return super()._validate(metrics | {_NULLS: 0}, *args, **kwargs)


class Validation:
    """A run of suites. It holds Great Expectations' context, which keeps nothing on disk.

    by_spark: whether rows are Spark's DataFrames; otherwise they are frames of
    pipelines.quality.frames.
    """

    def __init__(self, *, by_spark: bool = True) -> None:
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        sources = self._context.data_sources
        # its default keeps a copy of every column in memory, where two or three are looked at
        self._source: Any = (
            sources.add_spark("lake", persist=False) if by_spark else sources.add_pandas("lake")
        )

    def judge(
        self, suite: Suite, rows: DataFrame | pd.DataFrame, version: int, row_count: int
    ) -> TableResult:
        """The verdicts on a table. rows: those of judged_rows, or of frame, at this version of the
        table, which has row_count rows."""
        asset = self._source.add_dataframe_asset(suite.name)
        batch = asset.add_batch_definition_whole_dataframe("table").get_batch({"dataframe": rows})
        expected = gx.ExpectationSuite(
            suite.name, expectations=[_great(one) for one in suite.expectations]
        )
        in_pandas = isinstance(rows, pd.DataFrame)
        result = batch.validate(expected, result_format=_detailed(suite, with_keys=not in_pandas))
        if in_pandas:
            _put_keys(result, rows, suite.contract.keys)
        return TableResult(suite, version, _verdicts(suite, result, row_count), result)


def _put_keys(
    result: ExpectationSuiteValidationResult, rows: pd.DataFrame, keys: Sequence[str]
) -> None:
    """Replaces the row numbers in pandas' results by keys. If Great Expectations is asked for keys,
    it looks up those of all broken rows one by one, and then drops all but SAMPLE."""
    told = "partial_unexpected_index_list"
    for one in result.results:
        if one.result and told in one.result:
            one.result[told] = [
                {key: rows.at[number, key] for key in keys} for number in one.result[told]
            ]


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


def _detailed(suite: Suite, *, with_keys: bool) -> dict[str, Any]:
    keys = {"unexpected_index_column_names": list(suite.contract.keys)} if with_keys else {}
    return {
        "result_format": "SUMMARY",
        "partial_unexpected_count": SAMPLE,
        "return_unexpected_index_query": False,
        **keys,
    }


def _verdicts(
    suite: Suite, result: ExpectationSuiteValidationResult, row_count: int
) -> tuple[ExpectationResult, ...]:
    """The verdicts in the suite's order. Great Expectations sorts its results by column."""
    told = {_identity(one.expectation_config): one for one in result.results}
    return tuple(
        _verdict(one, told[_identity(_great(one).configuration)], row_count, suite.contract.keys)
        for one in suite.expectations
    )


def _identity(configuration: Any) -> tuple[str, str]:
    return configuration.type, str(configuration.description)


def _verdict(
    expectation: Expectation, found: Any, rows: int, keys: Sequence[str]
) -> ExpectationResult:
    raised = _raised(found.exception_info or {})
    if raised is not None:
        raise RuntimeError(f"{expectation.meaning}: {raised}")
    details = found.result or {}
    sample = details.get("partial_unexpected_index_list") or ()
    return ExpectationResult(
        expectation,
        success=bool(found.success),
        evaluated_rows=rows,
        unexpected_rows=int(details.get("unexpected_count") or 0),
        sample=tuple(_key_text(one, keys) for one in sample),
    )


def _raised(info: Mapping[str, Any]) -> str | None:
    """The error where nothing was judged: the suite has a bug, or the table can't be read.

    Great Expectations reports it for the expectation, or for each metric that could not be
    computed.
    """
    told = [info, *(one for one in info.values() if isinstance(one, Mapping))]
    messages = [str(one["exception_message"]) for one in told if one.get("raised_exception")]
    return messages[0] if messages else None


def _key_text(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return json.dumps({key: row[key] for key in keys}, ensure_ascii=False, default=str)
