"""Runs of batches, of any batches: joined from any pieces they are the same, and what is derived
from them is what is derived from single batches."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.silver.log_runs import log_runs, rows_of_runs
from pipelines.stages import whole_cluster
from pipelines.tables.contract import Contract
from pipelines.tables.silver import COMMITTED_LOG, LOG_RUNS
from tests.examples import examples
from tests.pipelines.cluster.batch_rows import log_batches
from tests.pipelines.cluster.captures import tables_of
from tests.pipelines.quorums import START, Batch, Capture

Row = dict[str, Any]
SPANS = (
    [{"from": START, "to": None}],
    [{"from": START, "to": START + timedelta(minutes=1)}],
    [
        {"from": START, "to": START},
        {"from": START + timedelta(minutes=2), "to": START + timedelta(minutes=3)},
    ],
    [],
)


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    """Batches of up to three replicas. Their logs have a common beginning, holes, other epochs,
    batches of equal offsets with another content, wrong counts and damage."""
    rows: list[Row] = []
    for node in range(draw(st.integers(1, 3))):
        offset = 0
        for number in range(draw(st.integers(0, 12))):
            is_odd = draw(st.integers(0, 9))
            count = 1 + (number * 7) % 3
            offset += 2 if is_odd == 9 else 0
            rows.append(
                {
                    **{"cluster_id": "c", "node_id": node, "directory_id": "d"},
                    "base_offset": offset,
                    "last_offset": offset + count - 1,
                    "leader_epoch": 1 + number // 4 + (is_odd == 8),
                    "crc": number + 100 * (is_odd == 7),
                    "is_control": is_odd == 6,
                    "record_count": count + (is_odd == 5),
                    "size_bytes": 100 + number,
                    "crc_valid": is_odd != 4,
                    "max_timestamp": None if is_odd == 3 else START + timedelta(seconds=offset),
                    "in_log": SPANS[draw(st.integers(0, 3)) if is_odd == 2 else 0],
                    "last_seen": START,
                }
            )
            offset += count
    return rows


def told(runs: pa.Table) -> list[Row]:
    """The runs with their holders in one order."""
    found = []
    for row in runs.to_pylist():
        row["holders"].sort(key=lambda one: (one["node_id"], one["directory_id"]))
        found.append(row)
    return sorted(found, key=lambda row: (row["base_offset"], row["leader_epoch"], row["crc"]))


def same_runs(one: pa.Table, other: pa.Table) -> None:
    assert told(one) == told(other)


@settings(max_examples=examples(200))
@given(logs())
def test_runs_of_runs_are_the_runs(rows: list[Row]) -> None:
    runs = log_runs(log_batches(rows))
    assert runs.schema == LOG_RUNS.arrow_schema
    same_runs(log_runs(rows_of_runs(runs)), runs)


@settings(max_examples=examples(200))
@given(logs(), st.lists(st.integers(1, 40), max_size=4))
def test_runs_of_ranges_of_offsets_are_joined_to_those_of_all_batches(
    rows: list[Row], cuts: list[int]
) -> None:
    bounds = [0, *sorted(set(cuts)), 1 << 62]
    pieces = [
        log_runs(log_batches(row for row in rows if low <= row["base_offset"] < high))
        for low, high in pairwise(bounds)
    ]
    joined = log_runs(rows_of_runs(pa.concat_tables(pieces)))
    same_runs(joined, log_runs(log_batches(rows)))


@settings(max_examples=examples(200))
@given(logs())
def test_each_sound_batch_is_in_one_run_and_all_replicas_that_hold_it_hold_the_run(
    rows: list[Row],
) -> None:
    runs = told(log_runs(log_batches(rows)))
    sound = {_identity(row) for row in rows if row["crc_valid"]}
    for base, last, epoch, crc, size in sound:
        of = [
            one
            for one in runs
            if one["leader_epoch"] == epoch and one["base_offset"] <= base <= one["last_offset"]
        ]
        exact = [one for one in of if one["crc"] == crc and one["base_offset"] == base]
        (run,) = exact if len(of) > 1 else of
        holders = {
            row["node_id"]
            for row in rows
            if row["crc_valid"] and _identity(row) == (base, last, epoch, crc, size)
        }
        assert {one["node_id"] for one in run["holders"]} == holders
    assert sum(run["batches"] for run in runs) == len(sound)


def _identity(row: Row) -> tuple[int, ...]:
    names = ("base_offset", "last_offset", "leader_epoch", "crc", "size_bytes")
    return tuple(row[name] for name in names)


@settings(max_examples=examples(200))
@given(logs())
def test_no_run_goes_beyond_an_edge_of_another_one(rows: list[Row]) -> None:
    """So two runs have the same offsets, or none in common, where headers tell the truth."""
    honest = [
        row for row in rows if row["record_count"] == row["last_offset"] - row["base_offset"] + 1
    ]
    runs = told(log_runs(log_batches(honest)))
    several = [run for run in runs if run["batches"] > 1]
    edges = {run["base_offset"] for run in runs} | {run["last_offset"] + 1 for run in runs}
    for run in several:
        starts = {
            row["base_offset"]
            for row in honest
            if row["crc_valid"]
            and row["leader_epoch"] == run["leader_epoch"]
            and run["base_offset"] < row["base_offset"] <= run["last_offset"]
        }
        assert not starts & edges


@st.composite
def quorums(draw: st.DrawFn) -> list[Capture]:
    """Captures of three replicas over some minutes. Their logs grow, are truncated and diverge."""
    captures: list[Capture] = []
    logs: dict[int, list[Batch]] = {1: [], 2: [], 3: []}
    for epoch in range(1, 1 + draw(st.integers(1, 4))):
        leader = draw(st.integers(1, 3))
        log = logs[leader]
        base = log[-1].last + 1 if log else 0
        log.append(Batch(base, base, epoch, crc=base, leader=leader))
        for _ in range(draw(st.integers(0, 4))):
            base = log[-1].last + 1
            last = base + draw(st.integers(0, 2))
            log.append(Batch(base, last, epoch, crc=base + 1000 * leader))
        for node in logs:
            follows = draw(st.integers(0, 2))
            if node != leader and follows:
                whole_log = logs[leader]
                upto = len(whole_log) if follows == 1 else draw(st.integers(0, len(whole_log)))
                logs[node] = whole_log[:upto]
        for node, held in logs.items():
            end = held[-1].last + 1 if held else 0
            snapshots = ((end, held[-1].epoch),) if held and draw(st.booleans()) else ()
            captures.append(
                Capture("c", node, epoch, tuple(held), quorum_epoch=epoch, snapshots=snapshots)
            )
    return captures


def _single(rows: pa.Table) -> pa.Table:
    """Each batch as a run of its own."""
    entries = rows.group_by(["base_offset", "leader_epoch", "crc"]).aggregate([]).to_pylist()
    parts = []
    for one in entries:
        is_it = pa.compute.field("base_offset") == one["base_offset"]
        is_it &= pa.compute.field("leader_epoch") == one["leader_epoch"]
        parts.append(log_runs(rows.filter(is_it & (pa.compute.field("crc") == one["crc"]))))
    empty = LOG_RUNS.arrow_schema.empty_table()
    return pa.concat_tables([empty, *parts])


def derived(captures: list[Capture]) -> dict[Contract, list[str]]:
    _, made = whole_cluster.derived_from(whole_cluster.of_one("c", tables_of(captures)))
    return {
        contract: sorted(map(str, rows.to_pylist()))
        for contract, rows in made.items()
        if contract is not LOG_RUNS
    }


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(quorums())
def test_all_tables_are_those_of_single_batches(captures: list[Capture]) -> None:
    found = derived(captures)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_cluster, "log_runs", _single)
        wanted = derived(captures)
    assert found[COMMITTED_LOG]
    for contract, rows in wanted.items():
        assert found[contract] == rows, contract.name
