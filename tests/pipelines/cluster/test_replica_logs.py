"""The logs of a capture group with runs in the place of batches show what their batches show."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.cluster.replica_logs import HeldEntries, runs_of
from pipelines.silver.capture_groups import finding_of_group
from replica.history.log import LogBatch, ReplicaLog
from replica.model.keys import ReplicaKey
from tests.examples import examples
from tests.replica.history.raft_model import RaftModel

Damage = Callable[[random.Random, list[LogBatch]], list[LogBatch]]


def _sound(_: random.Random, batches: list[LogBatch]) -> list[LogBatch]:
    return batches


def _with_holes(chance: random.Random, batches: list[LogBatch]) -> list[LogBatch]:
    return [batch for batch in batches if chance.random() > 0.1]


def _with_other_content(chance: random.Random, batches: list[LogBatch]) -> list[LogBatch]:
    return [
        replace(batch, digest=chance.random()) if chance.random() < 0.1 else batch
        for batch in batches
    ]


def _with_other_epochs(chance: random.Random, batches: list[LogBatch]) -> list[LogBatch]:
    return [
        replace(batch, epoch=batch.epoch + 1) if chance.random() < 0.1 else batch
        for batch in batches
    ]


def _joined_by_twos(_: random.Random, batches: list[LogBatch]) -> list[LogBatch]:
    """The same offsets in half as many batches, where epoch and offsets allow that."""
    found: list[LogBatch] = []
    for batch in batches:
        last = found[-1] if found else None
        if last is not None and last.digest != "joined" and _is_next(last, batch):
            found[-1] = LogBatch(last.base_offset, batch.last_offset, last.epoch, "joined")
        else:
            found.append(batch)
    return found


def _is_next(one: LogBatch, other: LogBatch) -> bool:
    return (one.epoch, one.last_offset + 1) == (other.epoch, other.base_offset)


DAMAGES: Sequence[Damage] = (
    _sound,
    _sound,
    _with_holes,
    _with_other_content,
    _with_other_epochs,
    _joined_by_twos,
)


def _logs(seed: int) -> list[ReplicaLog]:
    """Logs of a random run of Raft, some of them damaged afterwards."""
    chance = random.Random(seed)
    model = RaftModel(seed, chance.choice([1, 2, 3, 5]), chance.choice([0, 1, 2]), seed % 2 == 0)
    model.run(chance.randint(5, 150))
    captured = (model.capture(node) for node in model.nodes.values())
    damage = (chance.choice(DAMAGES) for _ in model.nodes)
    return sorted(
        (
            replace(log, batches=tuple(change(chance, [*log.batches])))
            for log, change in zip(captured, damage, strict=True)
        ),
        key=lambda log: log.key,
    )


def _in_runs(logs: Sequence[ReplicaLog]) -> list[ReplicaLog]:
    numbers: dict[LogBatch, int] = {}
    entries = []
    for log in logs:
        of = [numbers.setdefault(batch, len(numbers)) for batch in log.batches]
        columns = (
            [getattr(batch, name) for batch in log.batches]
            for name in ("base_offset", "last_offset", "epoch")
        )
        entries.append(HeldEntries(*(np.array(column, np.int64) for column in (of, *columns))))
    return [replace(log, batches=runs) for log, runs in zip(logs, runs_of(entries), strict=True)]


def _finding(logs: Sequence[ReplicaLog]) -> dict[str, object]:
    return finding_of_group([(str(log.key), log) for log in logs])


@settings(max_examples=examples(400), deadline=None)
@given(st.integers(0, 2**32))
def test_a_group_of_runs_shows_what_the_batches_show(seed: int) -> None:
    logs = _logs(seed)
    in_runs = _in_runs(logs)
    assert _finding(in_runs) == _finding(logs)
    for log, short in zip(logs, in_runs, strict=True):
        assert len(short.batches) <= len(log.batches)


def test_equal_logs_of_one_epoch_are_one_run() -> None:
    batches = tuple(LogBatch(at, at, 1, at) for at in range(1000))
    logs = [ReplicaLog(ReplicaKey(node, "d"), 0, batches) for node in (1, 2, 3)]
    (run,) = _in_runs(logs)[2].batches
    assert (run.base_offset, run.last_offset, run.epoch) == (0, 999, 1)


def test_a_run_ends_where_the_shortest_log_ends() -> None:
    batches = tuple(LogBatch(at, at, 1, at) for at in range(1000))
    long, short = (
        ReplicaLog(ReplicaKey(node, "d"), 0, batches[:end]) for node, end in ((1, 1000), (2, 600))
    )
    assert [run.last_offset for run in _in_runs([long, short])[0].batches] == [599, 999]


def test_logs_without_a_batch_have_no_run() -> None:
    logs = [ReplicaLog(ReplicaKey(node, "d"), 0, ()) for node in (1, 2)]
    assert [log.batches for log in _in_runs(logs)] == [(), ()]
