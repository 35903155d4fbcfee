"""What units made comes into a table in one commit, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from pipelines.delta import Lake, WriteTarget, ensure_table
from pipelines.delta.unit_commits import APPLICATION, Made, commit_units
from pipelines.new_file import NewFile
from pipelines.stages.output import Output, Replaced
from pipelines.stages.pins import Pins
from pipelines.tables.contract import Column, Contract
from pipelines.tables.quorum import VOTES

COLUMNS = (
    Column("cluster_id", "string", "the cluster", nullable=False),
    Column("number", "int", "a key"),
    Column("value", "string", "a value"),
)
KEYS = ("cluster_id", "number")
PLAIN = Contract("gold.plain", "Rows.", COLUMNS, KEYS)
FED = Contract("gold.fed", "Rows whose changes are told.", COLUMNS, KEYS, change_feed=True)

Rows = dict[tuple[str, int | None], str]
FIRST: Rows = {("a", 1): "x", ("a", 2): "y", ("b", 1): "z", ("b", None): "n"}

plain = pytest.mark.parametrize("contract", [PLAIN], indirect=True)
fed = pytest.mark.parametrize("contract", [FED], indirect=True)


def rows_of(values: Rows) -> pa.Table:
    cells = [
        {"cluster_id": cluster_id, "number": number, "value": value}
        for (cluster_id, number), value in values.items()
    ]
    return pa.Table.from_pylist(cells, PLAIN.arrow_schema)


def of(cluster_id: str) -> Rows:
    return {key: value for key, value in FIRST.items() if key[0] == cluster_id}


def table(lake: Lake, contract: Contract, version: int | None = None) -> DeltaTable:
    return DeltaTable(lake.path_of(contract), version=version)


def content(lake: Lake, contract: Contract, version: int | None = None) -> Rows:
    found = table(lake, contract, version).to_pyarrow_table().to_pylist()
    rows = {(row["cluster_id"], row["number"]): row["value"] for row in found}
    assert len(rows) == len(found), "a row is there twice"
    return rows


def told(lake: Lake, contract: Contract, version: int) -> list[tuple[str, str, int | None, str]]:
    """The change data feed of a version."""
    feed = pa.table(table(lake, contract).load_cdf(starting_version=version).read_all())
    names = ("_change_type", "cluster_id", "number", "value")
    return [tuple(row[name] for name in names) for row in feed.to_pylist()]


def written(lake: Lake, contract: Contract, values: Rows) -> NewFile:
    file = WriteTarget.of(lake, contract).write(rows_of(values).to_batches())
    assert file is not None
    return file


def file_of(lake: Lake, contract: Contract, cluster_id: str) -> str:
    actions = pa.table(table(lake, contract).get_add_actions(flatten=True)).to_pylist()
    (name,) = (one["path"] for one in actions if one["min.cluster_id"] == cluster_id)
    return str(name)


def changes(lake: Lake, contract: Contract, after: Rows) -> Sequence[Made]:
    """What a unit makes of FIRST."""
    out = Output(Pins(lake, {}), Replaced(()))
    out.put_changes(contract, rows_of(FIRST), rows_of(after))
    return out.made


@pytest.fixture(params=[PLAIN, FED], ids=["plain", "change feed"])
def contract(request: pytest.FixtureRequest) -> Contract:
    found: Contract = request.param
    return found


@pytest.fixture
def lake(tmp_path: Path, contract: Contract) -> Lake:
    """FIRST: the rows of a and those of b have a file each."""
    lake = Lake(tmp_path)
    ensure_table(lake, contract)
    made = [Made(contract.name, (written(lake, contract, of(one)),)) for one in ("a", "b")]
    commit_units(lake, contract, made, 0, 100)
    assert content(lake, contract) == FIRST
    return lake


@plain
def test_files_are_exchanged_in_one_commit(lake: Lake, contract: Contract) -> None:
    new = written(lake, contract, {("a", 1): "X", ("a", 3): "w"})
    commit_units(
        lake, contract, [Made(contract.name, (new,), (file_of(lake, contract, "a"),))], 1, 200
    )
    assert content(lake, contract) == {("a", 1): "X", ("a", 3): "w", **of("b")}
    assert table(lake, contract).version() == 2
    assert table(lake, contract).transaction_version(APPLICATION) == 200
    assert content(lake, contract, 1) == FIRST, "readers of the version before lose nothing"


@plain
def test_files_that_go_without_new_ones_leave_the_others(lake: Lake, contract: Contract) -> None:
    a, b = (file_of(lake, contract, cluster) for cluster in ("a", "b"))
    commit_units(lake, contract, [Made(contract.name, (), (a,))], 1, 200)
    assert content(lake, contract) == of("b")
    commit_units(lake, contract, [Made(contract.name, (), (b,))], 2, 300)
    assert content(lake, contract) == {}


@fed
def test_a_change_feed_tells_what_differs_only(lake: Lake, contract: Contract) -> None:
    after: Rows = {("a", 1): "x", ("a", 3): "new", ("b", 1): "Z"}
    made = changes(lake, contract, after)
    commit_units(lake, contract, made, 1, 200)
    assert content(lake, contract) == after
    assert table(lake, contract).version() == 2
    assert set(told(lake, contract, 2)) == {
        ("insert", "a", 3, "new"),
        ("delete", "a", 2, "y"),
        ("delete", "b", None, "n"),
        ("update_preimage", "b", 1, "z"),
        ("update_postimage", "b", 1, "Z"),
    }
    there = {file.name for file in Path(lake.path_of(contract)).glob("*.parquet")}
    gone = {file.name for one in made for file in (*one.files, *one.changes)}
    assert not there & gone, "files with changes are no files of the table"


@fed
def test_rows_that_are_only_new_are_appended_by_their_files(lake: Lake, contract: Contract) -> None:
    commit_units(lake, contract, changes(lake, contract, {**FIRST, ("c", 1): "c"}), 1, 200)
    assert content(lake, contract) == {**FIRST, ("c", 1): "c"}
    assert told(lake, contract, 2) == [("insert", "c", 1, "c")]


def test_where_nothing_changes_there_is_no_commit(lake: Lake, contract: Contract) -> None:
    commit_units(lake, contract, changes(lake, contract, FIRST), 1, 200)
    commit_units(lake, contract, [], 1, 300)
    commit_units(lake, contract, [Made(contract.name)], 1, 300)
    assert table(lake, contract).version() == 1


def test_a_build_that_has_committed_to_a_table_commits_nothing_again(
    lake: Lake, contract: Contract
) -> None:
    made = [Made(contract.name, (written(lake, contract, {("c", 1): "c"}),))]
    for _ in range(2):
        commit_units(lake, contract, made, 1, 200)
    assert content(lake, contract) == {**FIRST, ("c", 1): "c"}
    assert table(lake, contract).version() == 2


def test_of_two_builds_that_read_one_version_one_commits(lake: Lake, contract: Contract) -> None:
    def made(value: str) -> Sequence[Made]:
        new: Rows = {("a", 1): "x", ("a", 2): value}
        if contract is FED:
            return changes(lake, contract, {**of("b"), **new})
        return [Made(contract.name, (written(lake, contract, new),), (gone,))]

    gone = file_of(lake, contract, "a")
    commit_units(lake, contract, made("one"), 1, 200)
    with pytest.raises(CommitFailedError):
        commit_units(lake, contract, made("other"), 1, 201)
    assert content(lake, contract) == {**FIRST, ("a", 2): "one"}


def test_rows_of_other_clusters_in_a_shared_file_are_carried_into_a_new_one(
    tmp_path: Path,
) -> None:
    """a changes, b is gone, and c keeps its rows; d, in a file of its own, keeps the file."""
    lake = Lake(tmp_path)
    ensure_table(lake, VOTES)

    def votes(**epochs: int) -> pa.Table:
        lists = {"voter_directory_ids": [], "sources": []}
        rows = [
            {
                "cluster_id": one,
                "epoch": epoch,
                "voter_id": 1,
                "candidate_id": 1,
                "is_double": False,
            }
            for one, epoch in epochs.items()
        ]
        return pa.Table.from_pylist([{**row, **lists} for row in rows], VOTES.arrow_schema)

    target = WriteTarget.of(lake, VOTES)
    files = [target.write(rows.to_batches()) for rows in (votes(a=1, b=1, c=1), votes(d=1))]
    commit_units(lake, VOTES, [Made(VOTES.name, (one,)) for one in files if one], 0, 1)
    shared, own = (one.name for one in files if one)
    replaced = Replaced(("a",), {}, {VOTES.name: (shared,)}, ("a", "b"))
    out = Output(Pins(lake, {VOTES.name: 1}), replaced)
    out.write(VOTES, votes(a=9))
    out.carry_others()
    commit_units(lake, VOTES, out.made, 1, 2)
    found = table(lake, VOTES).to_pyarrow_table(columns=["cluster_id", "epoch"]).to_pylist()
    rows = sorted((row["cluster_id"], row["epoch"]) for row in found)
    assert rows == [("a", 9), ("c", 1), ("d", 1)]
    kept = {Path(uri).name for uri in table(lake, VOTES).file_uris()}
    assert own in kept
    assert shared not in kept
