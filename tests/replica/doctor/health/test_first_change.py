"""The first record of a part of a log that changes the state."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.doctor.check.examined import examine
from replica.doctor.health.of_directories import first_change
from replica.format.discovery import discover
from replica.simulate.metadata_records import begin, end, no_op, record, topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture

BEGIN, END = (begin("Create topics"),), (end(),)
ABORT = (record("ABORT_TRANSACTION_RECORD", reason="failed"),)
CHANGE = topic_config("orders", "retention.ms", "1000")


@pytest.mark.parametrize(
    ("batches", "place"),
    [
        ([no_op(), CHANGE], 1),
        ([no_op(), BEGIN, no_op(), END], None),
        ([BEGIN, END, CHANGE], 2),
        ([BEGIN, CHANGE, CHANGE, END], 3),
        ([BEGIN, CHANGE, ABORT], None),
        ([BEGIN, CHANGE, ABORT, no_op(), CHANGE], 4),
        ([BEGIN, CHANGE], None),
    ],
)
def test_a_change_counts_once_it_is_visible(
    tmp_path: Path, batches: list[tuple[object, ...]], place: int | None
) -> None:
    quorum = ScriptedQuorum("first change", Layout(voters=3, observers=1))
    quorum.begin("orders")
    start = quorum.log_end(1)
    stop = quorum.commit(1, *batches)  # type: ignore[arg-type]
    quorum.settle()
    write_capture(quorum.capture(), str(tmp_path))
    found, *_ = (examine(one) for one in discover([str(tmp_path)]))
    assert first_change(found, start, stop) == (None if place is None else start + place)
    batch, _ = next(iter(found.records(0, stop)))
    assert batch.header.is_control
    assert first_change(found, 0, batch.header.next_offset) is None, "a leader changes no metadata"


@pytest.mark.parametrize(
    ("batches", "place"),
    [
        ([BEGIN, CHANGE, CHANGE, END], 3),
        ([BEGIN, CHANGE, ABORT], None),
        ([BEGIN, CHANGE, ABORT, no_op(), CHANGE], 4),
        ([no_op(), CHANGE, BEGIN, CHANGE, END], 1),
    ],
)
def test_a_transaction_that_began_before_shows_by_its_end(
    tmp_path: Path, batches: list[tuple[object, ...]], place: int | None
) -> None:
    quorum = ScriptedQuorum("first change", Layout(voters=3, observers=1))
    quorum.begin("orders")
    start = quorum.log_end(1)
    stop = quorum.commit(1, *batches)  # type: ignore[arg-type]
    quorum.settle()
    write_capture(quorum.capture(), str(tmp_path))
    found, *_ = (examine(one) for one in discover([str(tmp_path)]))
    assert first_change(found, start + 1, stop) == (None if place is None else start + place)
