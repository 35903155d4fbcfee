"""Tables judged some clusters at a time: the same as judged as a whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines import delta
from pipelines.lake import Lake
from pipelines.quality import unbroken
from pipelines.quality.small_gate import SmallGate
from pipelines.quality.unbroken import Counted, Parts, counted, counted_in_parts, opened
from pipelines.tables.bronze import BRONZE, LOG_BATCHES, LOG_RECORDS
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD, METADATA_HISTORY
from pipelines.tables.silver import SILVER
from pipelines.tasks import Here
from tests.pipelines.quality.example_lakes import lake_of_bronze

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
GROUPS = ((DYNAMIC,), (STATIC,))
EACH_IN_TURN = Parts(GROUPS, Here())
LAYERS = pytest.mark.parametrize("tables", [BRONZE, SILVER, GOLD], ids=["bronze", "silver", "gold"])


@pytest.fixture(autouse=True)
def _no_table_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unbroken, "_FEW_ROWS", 0)


@pytest.fixture
def broken(built_lake: Path, tmp_path: Path) -> Path:
    """A lake in which a key is there twice."""
    lake = Path(shutil.copytree(built_lake, tmp_path / "lake"))
    (row, *_) = delta.values(
        delta.Lake(lake),
        METADATA_HISTORY,
        METADATA_HISTORY.column_names,
        f"cluster_id = '{STATIC}'",
    )
    delta.add_values(delta.Lake(lake), METADATA_HISTORY, [row])
    return lake


def in_turn(lake: Path, tables: tuple[Contract, ...], parts: Parts) -> list[Counted]:
    return counted_in_parts(Lake(lake), opened(Lake(lake), tables), tables, parts)


def at_once(lake: Path, tables: tuple[Contract, ...]) -> list[Counted]:
    return counted(opened(Lake(lake), tables), tables)


def history(found: list[Counted]) -> Counted:
    (one,) = (one for one in found if one.suite.contract == METADATA_HISTORY)
    return one


@LAYERS
def test_counts_of_clusters_in_parts_are_those_of_all_clusters_together(
    broken: Path, tables: tuple[Contract, ...]
) -> None:
    assert in_turn(broken, tables, EACH_IN_TURN) == at_once(broken, tables)


@LAYERS
def test_rows_of_clusters_that_nobody_named_are_judged_too(
    broken: Path, tables: tuple[Contract, ...]
) -> None:
    parts = Parts(((DYNAMIC,), ("another",)), Here())
    assert in_turn(broken, tables, parts) == at_once(broken, tables)


def test_of_a_table_that_was_unbroken_the_changed_clusters_are_judged(broken: Path) -> None:
    was_unbroken = frozenset({METADATA_HISTORY.name})
    whole = history(at_once(broken, GOLD))
    assert sum(whole.broken) == 3
    parts = Parts(GROUPS, Here(), frozenset({DYNAMIC}), was_unbroken)
    trusted = history(in_turn(broken, GOLD, parts))
    assert (trusted.row_count, sum(trusted.broken)) == (whole.row_count, 0)
    parts = Parts(GROUPS, Here(), frozenset({STATIC}), was_unbroken)
    assert history(in_turn(broken, GOLD, parts)) == whole
    nothing = Parts(GROUPS, Here(), frozenset(), was_unbroken)
    assert history(in_turn(broken, GOLD, nothing)) == trusted


def test_the_records_of_a_batch_that_is_left_out_are_left_out_with_it(tmp_path: Path) -> None:
    """Their offsets lie within it; but it isn't there any more."""
    no_epoch = {"leader_epoch": -1}
    lake = lake_of_bronze(tmp_path, log_batches=no_epoch, log_records=no_epoch)
    with SmallGate(lake, lambda _: None) as gate:
        assert gate.admit(BRONZE)
        assert gate.admitted.rows_of(LOG_BATCHES).num_rows == 0
        assert gate.admitted.rows_of(LOG_RECORDS).num_rows == 0
