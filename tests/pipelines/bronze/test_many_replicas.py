"""What an ingest asks of the lake grows with the rows that it looks at, and not with replicas times
replicas: by the number of queries, and by what is evaluated for each row."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pytest

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines import delta
from pipelines.bronze import batch_windows, log_batches, seen_batches
from pipelines.bronze.batch_spans import FoldedCapture
from pipelines.bronze.batch_windows import FoldWindow, LogStretch, Touched
from pipelines.bronze.captured import KnownCapture, PlacedCaptures, known_captures, place
from pipelines.capture.capture import Capture, CaptureOptions
from pipelines.capture.captures import CaptureGroup, capture_paths
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from pipelines.tables.bronze import CAPTURES, LOG_BATCHES
from pipelines.tables.keys import REPLICA_KEYS
from replica.model.keys import ReplicaId
from tests.bench.fleet import write_fleet, write_node

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MANY = 12


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SQL that delta-rs is asked, of which a copy of each query is kept."""
    asked: list[str] = []
    execute = deltalake.QueryBuilder.execute

    def counted(self: deltalake.QueryBuilder, sql: str) -> object:
        asked.append(sql)
        return execute(self, sql)

    monkeypatch.setattr(deltalake.QueryBuilder, "execute", counted)
    return asked


def _grown_twice(folder: Path, clusters: int, *, verify: bool = False) -> Lake:
    """A lake with two captures of each cluster. verify: whether the second capture read all
    bytes."""
    lake = Lake(folder / "lake")
    for hour, size in enumerate((20_000, 40_000)):
        nodes = write_fleet(folder / str(size), clusters, size)
        at = (NOON + timedelta(hours=hour)).isoformat()
        options = IngestOptions(
            [*map(str, nodes)], lake, captured_at=at, engine="local", verify=verify
        )
        assert ingest.run(options) == 0
    return lake


def test_an_ingest_of_many_replicas_asks_as_many_queries_as_one_of_a_single_replica(
    tmp_path: Path, queries: list[str]
) -> None:
    asked = {}
    for clusters in (1, MANY):
        queries.clear()
        _grown_twice(tmp_path / str(clusters), clusters)
        asked[clusters] = [*queries]
    assert len(asked[1]) == len(asked[MANY]) > 10
    assert _terms(asked[1]) == _terms(asked[MANY]), "no term for each replica"


@pytest.mark.slow
def test_the_offsets_of_all_long_logs_are_asked_for_at_once(
    tmp_path: Path, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_windows, "MOST_ROWS", 5)
    for clusters in (1, MANY):
        queries.clear()
        _grown_twice(tmp_path / str(clusters), clusters, verify=True)
        of_offsets = [query for query in queries if query.startswith("SELECT number, base_offset ")]
        assert len(of_offsets) == 1


def _terms(asked: Sequence[str]) -> int:
    return sum(len(re.findall(r"\b(?:OR|AND)\b", query)) for query in asked)


def test_a_hundred_windows_hold_the_replicas_of_their_own_alone() -> None:
    """What goes to a task doesn't grow with the round."""
    moment = FoldedCapture(NOON, None, 0, ())
    for count in (1, 100):
        replicas = [ReplicaId(f"cluster-{number}", 1, "d") for number in range(count)]
        moments = dict.fromkeys(replicas, moment)
        own = {(replica.cluster_id, 1, 1, 1): 7 for replica in replicas}
        window = FoldWindow((LogStretch(replicas[0], None, None, (), Touched(), 0, 1),))
        unit = seen_batches._Unit.of(window, moments, own)
        assert [*unit.moments] == replicas[:1]
        assert {*unit.own} == {("cluster-0", 1, 1, 1)}
        assert len(pickle.dumps(unit)) < 1500


def test_only_the_captures_from_a_look_on_and_the_one_before_are_read_to_place_it(
    tmp_path: Path,
) -> None:
    lake, node = Lake(tmp_path / "lake"), tmp_path / "node"
    write_node(node, 1, 5_000)
    (group,) = _groups(node, tmp_path)
    (capture,) = group.captures
    for hour in range(6):
        at = (NOON + timedelta(hours=hour)).isoformat()
        (node / "meta.properties").open("a").write(f"# capture {hour}\n")
        assert ingest.run(IngestOptions([str(node)], lake, captured_at=at, engine="local")) == 0
    found = known_captures(lake, [group], NOON + timedelta(hours=3, minutes=30))
    assert [one.at - NOON for one in found.of(capture.replica)] == [
        timedelta(hours=hour) for hour in (3, 4, 5)
    ]
    assert (found.ingest_seq, found.groups) == (6, frozenset())
    (held,) = delta.values(lake, CAPTURES, ("capture_group",), "ingest_seq = 2")
    again = CaptureGroup(group.cluster_id, held["capture_group"], group.captures)
    assert place([again], known_captures(lake, [again], NOON), NOON) == ()


def test_a_look_is_placed_without_a_look_at_the_captures_of_others(tmp_path: Path) -> None:
    """A thousand other replicas, whose captures tell when they are compared."""
    node = tmp_path / "node"
    write_node(node, 1, 5_000)
    (group,) = _groups(node, tmp_path)
    others = [
        _Untouchable("g", ReplicaId(f"c{number}", 1, "d"), NOON, 1, 0, ()) for number in range(1000)
    ]
    known = PlacedCaptures({one.replica: [one] for one in others}, ingest_seq=1)
    (one,) = place([group], known, NOON)
    assert (one.ingest_seq, one.previous_at, one.later) == (2, None, ())


class _Untouchable(KnownCapture):
    @property
    def at(self) -> datetime:  # type: ignore[override]
        raise AssertionError("a capture of another replica was looked at")

    @at.setter
    def at(self, value: datetime) -> None:
        return


def _groups(node: Path, tmp_path: Path) -> tuple[CaptureGroup, ...]:
    with Spool.below(Lake(tmp_path / "none")) as spool:
        return capture_paths([str(node)], CaptureOptions(), spool).rounds[0]


def test_each_row_of_the_fold_is_looked_at_once_however_many_replicas_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The replica of a row is found by its code, among the replicas that are in the rows."""
    looked: list[object] = []
    real = log_batches.replica_of
    monkeypatch.setattr(log_batches, "replica_of", lambda row: looked.append(row) or real(row))
    replicas = [ReplicaId(f"c{number % 50}", number // 50, "d") for number in range(100)]
    rows = pa.Table.from_pylist(
        [dict(zip(REPLICA_KEYS, _values(replica), strict=True)) for replica in replicas * 30],
        LOG_BATCHES.arrow_columns(REPLICA_KEYS),
    )
    values = {replica: number for number, replica in enumerate(replicas[10:])}
    found = log_batches._by_replica(rows, values, -1)
    assert len(looked) == 100
    assert found.tolist() == [*[-1] * 10, *range(90)] * 30
    assert log_batches._by_replica(rows.slice(0, 0), values, -1).size == 0
    assert found.dtype == np.int64


def _values(replica: ReplicaId) -> tuple[str, int, str]:
    return replica.cluster_id, replica.node_id, replica.directory_id


def test_what_a_capture_may_touch_leaves_out_what_is_known_and_nothing_else() -> None:
    held = [(10, 20), (5, 8), (20, 25)]
    ranges = batch_windows._without(held)
    for offset in range(40):
        known = any(start <= offset < end for start, end in held)
        assert known != any(low <= offset <= high for low, high in ranges)
    cut = Touched(ranges, 7).within(8, 30)
    assert (cut.ranges, cut.closed_from) == (((8, 9), (25, 29)), 7)


def test_damages_of_a_manifest_beside_many_directories_are_told_once(tmp_path: Path) -> None:
    nodes = write_fleet(tmp_path / "fleet", 5, 2_000)
    (tmp_path / "fleet" / "capture.json").write_text("{}")
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        found = capture_paths([*map(str, nodes)], CaptureOptions(), spool)
    assert len(found.damages) == 1
    captures: list[Capture] = [
        capture for groups in found.rounds for one in groups for capture in one.captures
    ]
    assert len(captures) == 5
