"""Tables brought to new content piece by piece, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines.delta import Lake, contents, ensure_table
from pipelines.delta.contents import put, put_all
from pipelines.tables.contract import Column, Contract

COLUMNS = (
    Column("cluster_id", "string", "the cluster", nullable=False),
    Column("number", "int", "a key", nullable=False),
    Column("value", "string", "a value"),
)
KEYS = ("cluster_id", "number")
PLAIN = Contract("gold.plain", "Rows.", COLUMNS, KEYS)
FED = Contract("gold.fed", "Rows whose changes are told.", COLUMNS, KEYS, change_feed=True)


@dataclass(frozen=True)
class Piece:
    """`values` of one cluster."""

    clusters: Sequence[str]
    values: Sequence[str]

    def read(self) -> pa.Table:
        rows = [
            {"cluster_id": self.clusters[0], "number": number, "value": value}
            for number, value in enumerate(self.values)
        ]
        return pa.Table.from_pylist(rows, PLAIN.arrow_schema)


def piece(cluster_id: str, values: str) -> Piece:
    return Piece((cluster_id,), [*values])


def table(lake: Lake, contract: Contract) -> DeltaTable:
    return DeltaTable(lake.path_of(contract))


def content(lake: Lake, contract: Contract) -> dict[str, str]:
    """The values of each cluster in the order of their numbers."""
    rows = table(lake, contract).to_pyarrow_table().sort_by("number").to_pylist()
    found: dict[str, str] = {}
    for row in rows:
        found[row["cluster_id"]] = found.get(row["cluster_id"], "") + row["value"]
    return found


def files(lake: Lake, contract: Contract) -> set[str]:
    return set(table(lake, contract).file_uris())


@pytest.fixture(params=[PLAIN, FED], ids=["plain", "change feed"])
def contract(request: pytest.FixtureRequest) -> Contract:
    found: Contract = request.param
    return found


@pytest.fixture
def lake(tmp_path: Path, contract: Contract, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Clusters a, b and c, each in a file of its own."""
    monkeypatch.setattr(contents, "_ROWS_OF_A_FILE", 3)
    monkeypatch.setattr(contents, "_ROWS_AT_ONCE", 3)
    lake = Lake(tmp_path)
    ensure_table(lake, contract)
    put(lake, contract, [piece("a", "xyz"), piece("b", "xyz"), piece("c", "xyz")])
    assert len(files(lake, contract)) == 3
    return lake


def test_a_cluster_gets_its_new_rows_and_others_keep_theirs_in_their_files(
    lake: Lake, contract: Contract
) -> None:
    before = files(lake, contract)
    put(lake, contract, [piece("b", "xYzw")], ["a", "c"])
    assert content(lake, contract) == {"a": "xyz", "b": "xYzw", "c": "xyz"}
    assert len(before & files(lake, contract)) == 2
    assert table(lake, contract).version() == 2


def test_equal_rows_are_not_written_again(lake: Lake, contract: Contract) -> None:
    put(lake, contract, [piece("b", "xyz")], ["a", "c"])
    put(lake, contract, [piece("c", "xyz"), piece("a", "xyz"), piece("b", "xyz")])
    assert table(lake, contract).version() == 1


def test_clusters_that_are_neither_given_nor_kept_go(lake: Lake, contract: Contract) -> None:
    put(lake, contract, [piece("b", "xyz")], ["c"])
    assert content(lake, contract) == {"b": "xyz", "c": "xyz"}
    put(lake, contract, [], ["c"])
    assert content(lake, contract) == {"c": "xyz"}
    put(lake, contract, [])
    assert content(lake, contract) == {}


def test_a_cluster_without_rows_loses_those_that_it_had(lake: Lake, contract: Contract) -> None:
    put(lake, contract, [piece("a", ""), piece("b", "xyz"), piece("c", "z")])
    assert content(lake, contract) == {"b": "xyz", "c": "z"}


def test_all_rows_are_replaced_in_one_commit(lake: Lake, contract: Contract) -> None:
    put_all(lake, contract, pa.concat_tables([piece("d", "d").read(), piece("it's", "e").read()]))
    assert content(lake, contract) == {"d": "d", "it's": "e"}
    assert table(lake, contract).version() == 2


@pytest.mark.parametrize("contract", [FED], indirect=True)
def test_a_change_feed_tells_what_differs_only(lake: Lake, contract: Contract) -> None:
    put(lake, contract, [piece("a", "xy"), piece("b", "xYz")])
    feed = pa.table(table(lake, contract).load_cdf(starting_version=2).read_all()).to_pylist()
    told = {(row["_change_type"], row["cluster_id"], row["number"], row["value"]) for row in feed}
    assert told == {
        ("delete", "a", 2, "z"),
        ("update_preimage", "b", 1, "y"),
        ("update_postimage", "b", 1, "Y"),
        *(("delete", "c", number, value) for number, value in enumerate("xyz")),
    }


def test_a_table_that_is_written_often_is_opened_by_a_checkpoint(
    lake: Lake, contract: Contract
) -> None:
    log = Path(lake.path_of(contract), "_delta_log")
    for number in range(10):
        put(lake, contract, [piece("b", str(number))], ["a", "c"])
    for commit in range(10):
        (log / f"{commit:020d}.json").unlink()
    assert content(lake, contract) == {"a": "xyz", "b": "9", "c": "xyz"}
