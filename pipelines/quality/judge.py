"""Rows judged against their suites, in the task that reads or makes them, by DataFusion over Arrow.

A suite's expectations are about rows of one cluster at a time, so a task counts the broken rows of
its clusters, and the driver adds the counts up (pipelines.quality.table_results) before it commits.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from datafusion import SessionContext
from pyarrow.dataset import Dataset
from pyspark.sql.types import VariantType

from pipelines.delta.few_rows import in_types
from pipelines.dialects import DATA_FUSION
from pipelines.quality.expectation import ROW_COUNT, Action, Expectation, Suite
from pipelines.quality.suite_sql import (
    broken_count,
    is_broken,
    judged_rows,
    only_broken,
    quoted,
    table_name,
    without_broken,
)
from pipelines.quality.suites import SUITES, suites_of
from pipelines.tables.contract import Contract
from replica.metadata.variant_reader import decode_variant

SAMPLE = 5
"""The most keys of broken rows that are kept."""
_CONTEXT = "_is_context"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of judging rows of one table: the rows of a cluster that one task
    judged together."""

    table: str
    cluster_id: str
    """The id of the cluster; "" for a table whose rows name no cluster."""
    row_count: int
    """How many rows were judged."""
    broken: tuple[int, ...]
    """How many rows break each expectation of the suite, in the suite's order."""
    samples: Mapping[int, tuple[str, ...]]
    """The keys of up to SAMPLE broken rows, each as a JSON object, by the expectation's number."""

    @property
    def is_unbroken(self) -> bool:
        """Whether no row breaks an expectation."""
        return not any(self.broken)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A broken row. Nothing is derived from it."""

    table: str
    cluster_id: str
    reason: str
    """The meaning of the expectation that the row breaks."""
    row_key: str
    """The keys of the row, as a JSON object."""
    content: str
    """The whole row, as a JSON object."""


@dataclass(frozen=True)
class Judged:
    """Rows that were judged."""

    contract: Contract
    admitted: pa.Table
    """The rows from which the next layer may be derived."""
    judgements: tuple[Judgement, ...]
    left_out: tuple[LeftOut, ...] = ()


Answer = Callable[[str], Iterable[pa.RecordBatch]]
"""Answers a query in DataFusion's SQL, which names tables as suite_sql.table_name does."""


def judge_layer(tables: Mapping[Contract, pa.Table]) -> dict[Contract, Judged]:
    """Judges rows of some tables of one layer, all of the same clusters. tables: by contract, in
    the contract's types; the table that a suite joins must be there, too."""
    context = SessionContext()
    for contract, rows in tables.items():
        _register(context, contract.name, rows)
    found: dict[Contract, Judged] = {}
    admitted: dict[str, str] = {}
    for suite in suites_of([*tables]):
        rows = tables[suite.contract]
        judgements, left_out, query = _judge(_answers(context), suite, admitted)
        if left_out:  # a suite that joins this table sees only its admitted rows
            admitted[suite.name] = query
            rows = _in_contract(suite.contract, _answers(context)(query))
        found[suite.contract] = Judged(suite.contract, rows, judgements, left_out)
    return found


def judge(
    contract: Contract, rows: pa.Table, context_rows: int = 0, suite: Suite | None = None
) -> Judged:
    """Judges rows of one table whose suite joins no other table.

    context_rows: the number of rows at the beginning that aren't judged, but are neighbours of
    judged rows. suite: by default kraftlake's own suite of this table.
    """
    context = SessionContext()
    is_context = [True] * context_rows + [False] * (rows.num_rows - context_rows)
    flagged = rows.append_column(_CONTEXT, pa.array(is_context, pa.bool_()))
    _register(context, contract.name, flagged)
    suite = suite or SUITES[contract.name]
    judgements, left_out, _ = _judge(_answers(context), suite, {}, f"NOT {_CONTEXT}")
    return Judged(contract, rows.slice(context_rows), judgements, left_out)


def judge_stored(
    answer: Answer, contracts: Sequence[Contract], rows: Mapping[str, str]
) -> tuple[list[Judgement], list[LeftOut]]:
    """Judges rows that `answer` reads from the lake. rows: by table name, the SQL of the rows to
    judge, and of the rows that their suites join."""
    admitted = dict(rows)
    judgements: list[Judgement] = []
    left_out: list[LeftOut] = []
    for suite in suites_of(contracts):
        found, bad, query = _judge(answer, suite, admitted)
        judgements += found
        left_out += bad
        if bad:
            admitted[suite.name] = query
    return judgements, left_out


def judge_files(contract: Contract, files: Dataset) -> Judged:
    """Judges the rows of data files of one table whose suite joins no other table. Columns are read
    as they are needed. Gives no admitted rows."""
    context = SessionContext()
    context.register_dataset(table_name(contract.name), files)
    judgements, left_out, _ = _judge(_answers(context), SUITES[contract.name], {})
    return Judged(contract, contract.arrow_schema.empty_table(), judgements, left_out)


def _answers(context: SessionContext) -> Answer:
    def answer(query: str) -> Iterator[pa.RecordBatch]:
        for batch in context.sql(query).execute_stream():
            yield batch.to_pyarrow()

    return answer


def _register(context: SessionContext, name: str, rows: pa.Table) -> None:
    nothing = pa.RecordBatch.from_pylist([], rows.schema)
    context.register_record_batches(table_name(name), [rows.to_batches() or [nothing]])


def _judge(
    answer: Answer, suite: Suite, admitted: Mapping[str, str], where: str = "true"
) -> tuple[tuple[Judgement, ...], tuple[LeftOut, ...], str]:
    """The judgements, the rows that are left out, and the SQL of the admitted rows."""
    judged = f"SELECT * FROM ({judged_rows(suite, admitted)}) WHERE {where}"
    counts = _Counts(answer, suite, judged)
    judgements = counts.judgements()
    broken = {number for one in judgements for number, count in enumerate(one.broken) if count}
    bad = [
        one
        for number, one in enumerate(suite.expectations)
        if number in broken and one.action is Action.QUARANTINE
    ]
    left_out = tuple(row for one in bad for row in _left_out(answer, suite, judged, one))
    return judgements, left_out, without_broken(judged, suite, bad) if bad else judged


@dataclass(frozen=True)
class _Counts:
    """Counts the broken rows of one table."""

    answer: Answer
    suite: Suite
    judged: str
    """SQL of the judged rows."""

    def judgements(self) -> tuple[Judgement, ...]:
        """The counts of each cluster."""
        by_sql = ", ".join(
            f"{broken_count(one)} AS c{number}"
            for number, one in enumerate(self.suite.expectations)
            if one.predicate is None and one.type != ROW_COUNT
        )
        query = (
            f"SELECT {self._cluster} AS cluster, count(*) AS row_count, {by_sql} "
            f"FROM ({self.judged}) GROUP BY {self._cluster}"
        )
        rows = [*_rows(self.answer(query))]
        by_predicate = {
            number: self._broken_by_predicate(one) if rows else {}
            for number, one in enumerate(self.suite.expectations)
            if one.predicate is not None
        }
        return tuple(self._judgement(row, by_predicate) for row in rows)

    @property
    def _cluster(self) -> str:
        there = "cluster_id" in self.suite.contract.column_names
        return "coalesce(cluster_id, '')" if there else "''"

    def _judgement(
        self, row: Mapping[str, Any], by_predicate: Mapping[int, Mapping[str, list[str]]]
    ) -> Judgement:
        cluster = row["cluster"]
        broken = []
        samples: dict[int, tuple[str, ...]] = {}
        for number, one in enumerate(self.suite.expectations):
            if one.predicate is not None:
                bad = by_predicate[number].get(cluster, [])
                broken.append(len(bad))
                samples |= {number: tuple(sorted(bad)[:SAMPLE])} if bad else {}
                continue
            broken.append(row.get(f"c{number}", 0))
            if broken[-1]:
                samples[number] = self._sample(one, cluster)
        return Judgement(self.suite.name, cluster, row["row_count"], tuple(broken), samples)

    def _sample(self, expectation: Expectation, cluster: str) -> tuple[str, ...]:
        keys = ", ".join(quoted(self.suite.contract.keys))
        order = ", ".join(f"{key} NULLS FIRST" for key in quoted(self.suite.contract.keys))
        where = f"{is_broken(expectation)} AND {self._cluster} = {DATA_FUSION.literal(cluster)}"
        found = self.answer(
            f"SELECT {keys} FROM ({self.judged}) WHERE {where} ORDER BY {order} LIMIT {SAMPLE}"
        )
        return tuple(map(_object, _rows(found)))

    def _broken_by_predicate(self, expectation: Expectation) -> dict[str, list[str]]:
        """By cluster, the keys of the rows that break the expectation by its predicate."""
        assert expectation.predicate is not None, expectation.meaning
        names = [*expectation.columns]
        keys = [*self.suite.contract.keys]
        columns = ", ".join(quoted(dict.fromkeys((*names, *keys))))
        query = f"SELECT {columns}, {self._cluster} AS _cluster FROM ({self.judged})"
        found: defaultdict[str, list[str]] = defaultdict(list)
        for batch in self.answer(query):
            values = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
            bad = [place for place, row in enumerate(values) if not expectation.predicate(*row)]
            for place in bad:  # a batch of views can't be filtered
                (row,) = batch.slice(place, 1).to_pylist()
                found[row["_cluster"]].append(_object({key: row[key] for key in keys}))
        return dict(found)


def _left_out(
    answer: Answer, suite: Suite, judged: str, expectation: Expectation
) -> Iterator[LeftOut]:
    contract = suite.contract
    variants = {one.name for one in contract.columns if isinstance(one.data_type, VariantType)}
    found = answer(only_broken(judged, suite, expectation))
    for row in _in_contract(contract, found).to_pylist():
        told = {
            name: decode_variant(value["value"], value["metadata"]) if name in variants else value
            for name, value in row.items()
            if value is not None
        }
        keys = {name: told[name] for name in contract.keys if name in told}
        cluster_id = str(told.get("cluster_id", ""))
        yield LeftOut(contract.name, cluster_id, expectation.meaning, _object(keys), _object(told))


def _in_contract(contract: Contract, found: Iterable[pa.RecordBatch]) -> pa.Table:
    """DataFusion's rows in the contract's types."""
    batches = [*found]
    if not batches:
        return contract.arrow_schema.empty_table()
    rows = pa.Table.from_batches(batches)
    return in_types(rows.select(contract.column_names), contract.arrow_schema)


def _rows(found: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in found:
        yield from batch.to_pylist()


def _object(fields: Mapping[str, Any]) -> str:
    """The fields as JSON."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=_text)


def _text(value: Any) -> str:
    """A value that JSON has no form for, as text: bytes in Base64, a time as in ISO 8601."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        time = value.astimezone(UTC).replace(tzinfo=None)
        return f"{time.isoformat(timespec='milliseconds')}Z"
    return str(value)
