"""Rows judged in parts, by each way in which tasks read them: the same as judged at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from pipelines.lake.delta_rs import newest_versions
from pipelines.quality.expectation import Action
from pipelines.quality.judge import Judgement, judge, judge_files, judge_layer, judge_stored
from pipelines.quality.suites import SUITES
from pipelines.quality.table_results import TableResult, summed
from pipelines.stages.pins import Pins
from pipelines.tables.gold import METADATA_HISTORY
from pipelines.tables.silver import COMMITTED_LOG
from replica.scan.compiling import compile_all
from replica.scan.json_texts import SMALL_BYTES
from tests.pipelines.quality.broken_rows import GOOD, Example
from tests.pipelines.quality.example_lakes import (
    lake_of_example,
    tables_of_example,
    values_of,
    whole_example,
)

QUARANTINE = Action.QUARANTINE
_QUICK = {"bronze.log_records", "silver.leader_epochs", "gold.metadata_history", "gold.verdicts"}
_WITHOUT_CLUSTER = {name for name, one in SUITES.items() if "cluster_id" not in one.contract.keys}


def _known(name: str) -> Example:
    """Good and broken rows, each of a cluster."""
    found = whole_example(name)
    rows = tuple(row for row in found.rows if row.get("cluster_id") is not None)
    return Example(rows if name not in _WITHOUT_CLUSTER else found.rows, found.other)


def _halves(rows: pa.Table) -> Iterator[pa.Table]:
    """The rows of every other cluster, and those of the others."""
    clusters = rows["cluster_id"].unique()
    for some in (clusters[::2], clusters[1::2]):
        yield rows.filter(pc.is_in(rows["cluster_id"], some))


def _most_slow(names: Iterable[str]) -> list[object]:
    """One table of each layer is judged in every run of the tests, the others in the slow ones."""
    return [pytest.param(one, marks=() if one in _QUICK else pytest.mark.slow) for one in names]


def _sorted(judgements: Iterable[Judgement]) -> list[Judgement]:
    return sorted(judgements, key=lambda one: one.cluster_id)


def _counts(result: TableResult) -> list[tuple[int, int]]:
    return [(one.evaluated_rows, one.unexpected_rows) for one in result.verdicts]


@pytest.mark.parametrize(
    "name", _most_slow([name for name in SUITES if name not in _WITHOUT_CLUSTER])
)
def test_clusters_judged_apart_are_judged_as_together(name: str) -> None:
    suite = SUITES[name]
    tables = tables_of_example(suite, _known(name))
    at_once = judge_layer(tables)[suite.contract]
    assert any(not one.is_unbroken for one in at_once.judgements)
    found: list[Judgement] = []
    left_out = []
    for rows in _halves(tables[suite.contract]):
        one = judge_layer({**tables, suite.contract: rows})[suite.contract]
        found += one.judgements
        left_out += one.left_out
    assert _sorted(found) == _sorted(at_once.judgements)
    assert sorted(map(repr, left_out)) == sorted(map(repr, at_once.left_out))
    assert _counts(summed(suite, 0, found)) == _counts(summed(suite, 0, at_once.judgements))


@pytest.mark.parametrize("name", _most_slow(SUITES))
def test_rows_of_a_lake_and_of_data_files_are_judged_as_those_in_memory(
    name: str, tmp_path: Path
) -> None:
    suite = SUITES[name]
    example = _known(name)
    in_memory = _sorted(judge_layer(tables_of_example(suite, example))[suite.contract].judgements)
    lake, tables = lake_of_example(tmp_path / "lake", suite, example)
    names = [one.name for one in tables]
    pins = Pins(lake, newest_versions(lake, names))
    stored, _ = judge_stored(partial(pins.answer, names), [suite.contract], {})
    counts = [(one.cluster_id, one.row_count, one.broken) for one in in_memory]
    if suite.joined is None:
        assert [(one.cluster_id, one.row_count, one.broken) for one in _sorted(stored)] == counts
    if suite.joined is None and not any(one.action is QUARANTINE for one in suite.expectations):
        files = judge_files(suite.contract, ds.dataset(pins.table(name).file_uris()))
        assert _sorted(files.judgements) == in_memory, "with the keys of broken rows"
    if suite.joined is not None:
        assert sum(one.row_count for one in stored) == sum(one[1] for one in counts)


def test_rows_before_those_of_a_part_are_neighbours_but_are_not_judged() -> None:
    rows = tables_of_example(SUITES[COMMITTED_LOG.name], _chain())[COMMITTED_LOG]
    whole = judge(COMMITTED_LOG, rows).judgements
    for at in range(1, rows.num_rows):
        parts = (judge(COMMITTED_LOG, rows[:at]), judge(COMMITTED_LOG, rows[at - 1 :], 1))
        assert parts[1].admitted.num_rows == rows.num_rows - at
        found = [one for part in parts for one in part.judgements]
        suite = SUITES[COMMITTED_LOG.name]
        assert summed(suite, 0, found) == summed(suite, 0, whole)
    alone = [
        one
        for at in range(rows.num_rows)
        for one in judge(COMMITTED_LOG, rows[at : at + 1]).judgements
    ]
    assert not any(sum(one.broken) for one in alone), "what is broken is between rows"
    assert sum(whole[0].broken) == 2


def _chain() -> Example:
    """A gap in a branch, and an epoch that goes back."""
    told = ((0, 1), (1, 1), (3, 2), (4, 1), (5, 2))
    return Example(
        tuple(
            {"cluster_id": "c", "offset": offset, "leader_epoch": epoch, "crc": 1}
            | {"commitment": "proven"}
            for offset, epoch in told
        )
    )


def test_a_text_that_is_no_json_is_found_in_files_whose_texts_a_kernel_reads(
    tmp_path: Path,
) -> None:
    """Also one with a key twice; not one with other spelling that is JSON."""
    compile_all()
    texts = ["{" + f'"a":{n},"b":"{"x" * 300}"' + "}" for n in range(1000)]
    texts[3], texts[700], texts[999] = '{"b":1,"a":"\\u00e9"}', '{"a":1,"a":1}', texts[0][:-1]
    (good, *_) = GOOD[METADATA_HISTORY.name].rows
    schema = METADATA_HISTORY.arrow_schema
    places = [{"valid_from_offset": n, "valid_to_offset": n + 1} for n in range(len(texts))]
    rows = [
        values_of(good | place | {"value": text}, schema)
        for place, text in zip(places, texts, strict=True)
    ]
    ds.write_dataset(pa.Table.from_pylist(rows, schema), tmp_path, format="parquet")
    files = ds.dataset(tmp_path)
    assert sum(len(text) for text in texts) > SMALL_BYTES
    (found,) = judge_files(METADATA_HISTORY, files).judgements
    (number,) = found.samples
    expectation = SUITES[METADATA_HISTORY.name].expectations[number]
    assert expectation.meaning == "value is JSON"
    assert found.broken[number] == 2
    assert [json.loads(one)["valid_from_offset"] for one in found.samples[number]] == [700, 999]
