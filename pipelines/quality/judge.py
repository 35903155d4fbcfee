"""Rows judged against their suites, in the task that reads or makes them, by DataFusion over Arrow.

A suite's expectations are about rows of one cluster at a time, so a task counts the broken rows of
its clusters, and the driver adds the counts up (pipelines.quality.table_results) before it commits.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from datafusion import SessionContext
from pyarrow.dataset import Dataset
from pyspark.sql.types import VariantType

from pipelines.delta.few_rows import in_types
from pipelines.dialects import DATA_FUSION
from pipelines.quality.expectation import ROW_COUNT, Action, Expectation, Suite
from pipelines.quality.neighbours import with_neighbours
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
"""The most rows that break an expectation and whose keys are kept."""
_CONTEXT = "_is_context"
_READING: Mapping[str, Any] = {"use_threads": False, "batch_readahead": 1, "fragment_readahead": 1}
"""How data files are read: the tasks of a build share the processors and the memory already."""


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
    """The keys of up to SAMPLE broken rows, each as a JSON object, by the index in `broken`."""

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
    present = {
        contract: _register(context, SUITES[contract.name], rows)
        for contract, rows in tables.items()
    }
    found: dict[Contract, Judged] = {}
    admitted: dict[str, str] = {}
    for suite in suites_of([*tables]):
        rows = tables[suite.contract]
        judged = judged_rows(suite, admitted, present[suite.contract])
        judgements, left_out, query = _judge(_answers(context), suite, judged)
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
    is_context = pa.array(np.arange(rows.num_rows) < context_rows)
    suite = suite or SUITES[contract.name]
    present = _register(context, suite, rows.append_column(_CONTEXT, is_context))
    judged = f"SELECT * FROM ({judged_rows(suite, {}, present)}) WHERE NOT {_CONTEXT}"
    judgements, left_out, _ = _judge(_answers(context), suite, judged)
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
        found, bad, query = _judge(answer, suite, judged_rows(suite, admitted))
        judgements += found
        left_out += bad
        if bad:
            admitted[suite.name] = query
    return judgements, left_out


def judge_files(contract: Contract, files: Dataset) -> Judged:
    """Judges the rows of data files of one table whose suite joins no other table and leaves no
    rows out. Columns are read as they are needed. Gives no admitted rows."""
    never_null = frozenset(field.name for field in files.schema if not field.nullable)
    suite = replace(SUITES[contract.name], never_null=never_null)
    assert all(one.action is not Action.QUARANTINE for one in suite.expectations), suite.name
    context = SessionContext()
    rows = files.to_table(columns=_named(suite), **_READING)
    judged = judged_rows(suite, {}, _register(context, suite, rows))

    def read(names: Collection[str]) -> Iterable[pa.RecordBatch]:
        if {*names} <= {*rows.column_names}:
            yield from rows.select([*names]).to_batches()
        else:
            yield from files.to_batches(columns=[*names], **_READING)

    counts = _Counts(_answers(context), suite, judged, read)
    return Judged(contract, contract.arrow_schema.empty_table(), counts.judgements())


def _named(suite: Suite) -> list[str]:
    """The table's columns that the suite's SQL may need: those whose names occur in it as words."""
    columns = suite.contract.column_names
    conditions = [broken_count(one) for one in suite.expectations if one.predicate is None]
    words = {*re.findall(r"\w+", " ".join((judged_rows(suite), *conditions))), "cluster_id"}
    return [name for name in columns if name in words]


def _answers(context: SessionContext) -> Answer:
    def answer(query: str) -> Iterator[pa.RecordBatch]:
        for batch in context.sql(query).execute_stream():
            yield batch.to_pyarrow()

    return answer


def _register(context: SessionContext, suite: Suite, rows: pa.Table) -> list[str]:
    """Makes rows of the suite's table known to DataFusion. Returns the names of their columns."""
    told = with_neighbours(suite, rows)
    nothing = pa.RecordBatch.from_pylist([], told.schema)
    context.register_record_batches(table_name(suite.name), [told.to_batches() or [nothing]])
    names: list[str] = told.column_names
    return names


def _judge(
    answer: Answer, suite: Suite, judged: str
) -> tuple[tuple[Judgement, ...], tuple[LeftOut, ...], str]:
    """The judgements, the rows that are left out, and the SQL of the admitted rows. judged: SQL of
    the judged rows."""
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
    read: Callable[[Collection[str]], Iterable[pa.RecordBatch]] | None = None
    """Gives columns of the judged rows, where `judged` may lack some that predicates need; None
    where `judged` has all."""

    def judgements(self) -> tuple[Judgement, ...]:
        """The judgement of each cluster's rows."""
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
        if not any(_bad(expectation, batch) for batch in self._columns(expectation.columns)):
            return {}
        keys = self.suite.contract.keys
        found: defaultdict[str, list[str]] = defaultdict(list)
        cluster = [name for name in ("cluster_id",) if name in self.suite.contract.column_names]
        for batch in self._columns(dict.fromkeys((*expectation.columns, *keys, *cluster))):
            for place in _bad(expectation, batch):  # a batch of views can't be filtered
                (row,) = batch.slice(place, 1).to_pylist()
                told = _object({key: row[key] for key in keys})
                found[row.get("cluster_id") or ""].append(told)
        return dict(found)

    def _columns(self, names: Collection[str]) -> Iterable[pa.RecordBatch]:
        if self.read is not None:
            return self.read(names)
        return self.answer(f"SELECT {', '.join(quoted(names))} FROM ({self.judged})")


def _bad(expectation: Expectation, batch: pa.RecordBatch) -> list[int]:
    """The indices of the rows that break the expectation by its predicate."""
    predicate, doubtful = expectation.predicate, expectation.doubtful
    assert predicate is not None, expectation.meaning
    columns = [batch.column(name) for name in expectation.columns]
    places = range(batch.num_rows) if doubtful is None else doubtful(*columns)
    if not len(places):
        return []
    rows = [*zip(*(column.to_pylist() for column in columns), strict=True)]
    return [place for place in places if not predicate(*rows[place])]


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
