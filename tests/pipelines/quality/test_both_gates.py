"""The gate with Spark and the one without, of the same lake: the same rows, texts and pages."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines import delta
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there, rows_of
from pipelines.quality.gate import Gate
from pipelines.quality.results import PAGES
from pipelines.quality.small_gate import SmallGate
from pipelines.tables.bronze import BRONZE, DAMAGE, LOG_BATCHES, LOG_RECORDS, SNAPSHOT_RECORDS
from pipelines.tables.gold import QUALITY_RESULTS, QUARANTINED_ROWS
from replica.errors import CorruptDataError
from replica.metadata.variant import encode_variant
from tests.pipelines.quality.broken_rows import GOOD, T0, T1
from tests.pipelines.quality.example_lakes import lake_of_bronze, loose, values_of

_TEXT = 'a "b" \\ / \b\t\n\f\r \x00\x1f\x7f \u2028 ä 🜁 <b> \''
_PAYLOAD = {
    **{"text": _TEXT, _TEXT: None, "empty": {}, "list": [None, True, [], {"a": None}]},
    **{"whole": [0, -1, 2**63 - 1], "few": [0.0, -0.0, 0.1, 1e-3, 9.99e-4, -1e7, 9999999.5]},
    **{"many": [1e300, 1.5e-300, 123456789.125, 2.0**70, 100.0, 5e15]},
}
_MOMENT = T1.replace(microsecond=123987)


def _record(**changes: Any) -> dict[str, Any]:
    return {**GOOD[LOG_RECORDS.name].rows[0], "crc": 1, **changes}


def _damaged(folder: Path) -> Lake:
    """Bronze with rows of each kind that are warned of, and left out."""
    lake = lake_of_bronze(folder, replica_state={"leader_epochs": [(2, 0), (1, 5)]})
    backwards = GOOD[LOG_BATCHES.name].rows[0] | {"last_offset": -1, "cluster_id": "e"}
    period = [(T0, _MOMENT), (T1, None)]
    orphan = GOOD[SNAPSHOT_RECORDS.name].rows[0] | {"epoch": 99, "payload": None}
    rows: dict[Any, list[dict[str, Any]]] = {
        DAMAGE: [GOOD[DAMAGE.name].rows[0] | {"kind": "x", "position": n} for n in range(9, 0, -1)],
        LOG_BATCHES: [
            backwards | {"in_log": period, "seen": [], "first_seen": _MOMENT, "file": _TEXT},
            backwards | {"leader_epoch": -1, "undamaged": period, "base_timestamp": _MOMENT},
        ],
        LOG_RECORDS: [
            _record(payload=encode_variant(_PAYLOAD), value=bytes(range(256)), timestamp=_MOMENT),
            _record(payload=encode_variant(_TEXT), value=None, offset=12),
            _record(payload=None, value=b"", offset=13, cluster_id=_TEXT),
            *({**row, "cluster_id": "e"} for row in GOOD[LOG_RECORDS.name].rows),
        ],
        SNAPSHOT_RECORDS: [orphan],
    }
    for contract, some in rows.items():
        delta.add_values(
            lake, loose(contract), [values_of(row, contract.arrow_schema) for row in some]
        )
    return lake


def test_a_row_that_is_left_out_is_json_as_spark_writes_it(tmp_path: Path) -> None:
    lake = _damaged(tmp_path)
    with SmallGate(lake, lambda _: None) as gate:
        assert gate.admit(BRONZE)
    told = {
        row["content"] for row in rows_of(_table(lake, QUARANTINED_ROWS.name), "SELECT * FROM t")
    }
    (record,) = (text for text in told if '"whole"' in text)
    assert '"few":[0.0,-0.0,0.1,0.001,9.99E-4,-1.0E7,9999999.5]' in record
    assert '"timestamp":"2026-01-01T01:00:00.123Z"' in record
    assert r"\u0000\u001F" in record
    assert '"list":[null,true,[],{"a":null}]' in record
    (batch,) = (text for text in told if '"in_log":[{' in text)
    assert '{"from":"2026-01-01T01:00:00.000Z"}]' in batch


@pytest.mark.spark
@pytest.mark.slow
def test_both_gates_warn_and_leave_out_the_same(spark: SparkSession, tmp_path: Path) -> None:
    lakes = [_damaged(tmp_path / "small")]
    lakes.append(Lake(shutil.copytree(tmp_path / "small", tmp_path / "spark")))
    lines: tuple[list[str], list[str]] = ([], [])
    with SmallGate(lakes[0], lines[0].append, "r") as small:
        assert small.admit(BRONZE)
    with Gate(spark, lakes[1], lines[1].append, "r") as gate:
        admitted = gate.admit(BRONZE)
        for contract in BRONZE:
            assert admitted[contract].count() == small.admitted.rows_of(contract).num_rows
    assert lines[0] == lines[1]
    assert len(lines[0]) >= 6
    for name in (QUALITY_RESULTS.name, QUARANTINED_ROWS.name):
        assert _told(lakes[0], name) == _told(lakes[1], name)
    assert _pages(lakes[0]) == _pages(lakes[1])


@pytest.mark.spark
def test_both_gates_end_a_build_with_the_same_words(spark: SparkSession, tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path, damage={"kind": "x", "length": -1, "position": -2})
    told = []
    for run, gate in (("a", SmallGate(lake, str, "a")), ("b", Gate(spark, lake, str, "b"))):
        with pytest.raises(CorruptDataError) as caught, gate:
            gate.admit(BRONZE)
        told.append((str(caught.value), _told(lake, QUALITY_RESULTS.name, run)))
    assert told[0] == told[1]


def _table(lake: Lake, name: str) -> Any:
    table = open_if_there(lake, name)
    assert table is not None
    return table


def _told(lake: Lake, name: str, run_id: str = "r") -> list[str]:
    rows = rows_of(_table(lake, name), f"SELECT * FROM t WHERE run_id = '{run_id}'")
    assert rows
    return sorted(repr({**row, "at": None, "run_id": None}) for row in rows)


def _pages(lake: Lake) -> dict[str, str]:
    """Without when they were made, and the page of a list, which is JSON without Spark."""
    found = {page.name: page.read_text("utf-8") for page in Path(lake.root, PAGES).iterdir()}
    del found["bronze.replica_state.html"]
    return {name: re.sub("Judged at .*? UTC", "", page) for name, page in found.items()}
