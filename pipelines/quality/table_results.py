"""The result of a run for one table: a verdict for each expectation of its suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from pipelines.lake import Lake
from pipelines.quality.expectation import ROW_COUNT, Action, Expectation, Suite
from pipelines.quality.judge import SAMPLE, Judgement
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUALITY_RESULTS
from replica.errors import CorruptDataError


@dataclass(frozen=True)
class ExpectationResult:
    """Whether a table meets one expectation."""

    expectation: Expectation
    success: bool
    evaluated_rows: int
    """The number of rows in the table."""
    unexpected_rows: int = 0
    """The number of rows that break the expectation; 0 for an expectation about the table as a
    whole."""
    sample: tuple[str, ...] = ()
    """The keys of some rows that break the expectation, each as a JSON object."""

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
    """The verdicts on a table at one version, in the order of its suite."""

    suite: Suite
    version: int
    verdicts: tuple[ExpectationResult, ...]

    @property
    def table(self) -> Contract:
        """The table's contract."""
        return self.suite.contract

    def broken(self, action: Action) -> tuple[ExpectationResult, ...]:
        """The verdicts that failed and have this action."""
        return tuple(
            one for one in self.verdicts if not one.success and one.expectation.action is action
        )


def summed(suite: Suite, version: int, judgements: Iterable[Judgement]) -> TableResult:
    """The verdicts on a table, from the judgements of all its rows."""
    some = [one for one in judgements if one.table == suite.name]
    rows = sum(one.row_count for one in some)
    verdicts = []
    for number, expectation in enumerate(suite.expectations):
        if expectation.type == ROW_COUNT:
            success = rows >= expectation.kwargs["min_value"]
            verdicts.append(ExpectationResult(expectation, success, rows))
            continue
        broken = sum(one.broken[number] for one in some)
        samples = chain.from_iterable(one.samples.get(number, ()) for one in some)
        sample = tuple(islice(samples, SAMPLE))
        verdicts.append(ExpectationResult(expectation, not broken, rows, broken, sample))
    return TableResult(suite, version, tuple(verdicts))


def broken_text(verdict: ExpectationResult) -> str:
    """A broken expectation as one line: the number of rows, the expectation, and some keys."""
    expectation = verdict.expectation
    sample = f", such as {verdict.sample[0]}" if verdict.sample else ""
    count = f"{verdict.unexpected_rows} of {verdict.evaluated_rows} rows"
    if not expectation.columns:
        count = f"{verdict.evaluated_rows} rows"
    return f"{count} break '{expectation.meaning}' ({expectation.action}){sample}"


def stop_if_broken(lake: Lake, results: Sequence[TableResult]) -> None:
    """Raises CorruptDataError, which names the table, the expectation and some keys, where an
    expectation whose action is STOP is broken."""
    stopped = [(one, verdict) for one in results for verdict in one.broken(Action.STOP)]
    if not stopped:
        return
    (first, verdict), more = stopped[0], len(stopped) - 1
    also = f"; {more} more expectations are broken" if more else ""
    raise CorruptDataError(
        f"{broken_text(verdict)}{also}. Nothing was derived from it; "
        f"{QUALITY_RESULTS.name} has all",
        path=lake.path_of(first.table),
    )
