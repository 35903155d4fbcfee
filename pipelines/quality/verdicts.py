"""The result of a run for one table: a verdict for each expectation of its suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.quality.expectation import Action, Expectation, Suite
from pipelines.tables.contract import Contract

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult


@dataclass(frozen=True)
class ExpectationResult:
    """Whether a table meets one expectation. evaluated_rows: rows of the table. unexpected_rows:
    rows that break the expectation; 0 for an expectation about the table as a whole. sample: keys
    of some of these rows, each as a JSON object."""

    expectation: Expectation
    success: bool
    evaluated_rows: int
    unexpected_rows: int = 0
    sample: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """The verdict as columns of gold.quality_results."""
        return {
            "expectation": self.expectation.type,
            "meaning": self.expectation.meaning,
            "columns": list(self.expectation.columns),
            "action": self.expectation.action.value,
            "success": self.success,
            "evaluated_rows": self.evaluated_rows,
            "unexpected_rows": self.unexpected_rows,
            "sample_keys": list(self.sample),
        }


@dataclass(frozen=True)
class TableResult:
    """The verdicts on a table at one version, in the order of its suite. result: Great
    Expectations' own result, for the page; None where Great Expectations did not judge the table,
    because no row breaks the suite."""

    suite: Suite
    version: int
    verdicts: tuple[ExpectationResult, ...]
    result: ExpectationSuiteValidationResult | None = None

    @property
    def table(self) -> Contract:
        """The table's contract."""
        return self.suite.contract

    def broken(self, action: Action) -> tuple[ExpectationResult, ...]:
        """The verdicts that failed and have this action."""
        return tuple(
            one for one in self.verdicts if not one.success and one.expectation.action is action
        )


def unbroken(suite: Suite, version: int, row_count: int) -> TableResult:
    """The result for a table with this number of rows, none of which breaks an expectation."""
    verdicts = tuple(ExpectationResult(one, True, row_count) for one in suite.expectations)
    return TableResult(suite, version, verdicts)


def broken_text(verdict: ExpectationResult) -> str:
    """A broken expectation in a line: how many rows, which expectation, and some keys."""
    expectation = verdict.expectation
    sample = f", such as {verdict.sample[0]}" if verdict.sample else ""
    count = f"{verdict.unexpected_rows} of {verdict.evaluated_rows} rows"
    if not expectation.columns:
        count = f"{verdict.evaluated_rows} rows"
    return f"{count} break '{expectation.meaning}' ({expectation.action}){sample}"
