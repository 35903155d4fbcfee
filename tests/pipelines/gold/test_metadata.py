"""The history, the changes and the known ranges of a small lake, from rows made by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pipelines.gold.metadata_changes import metadata_changes
from pipelines.gold.metadata_history import metadata_history
from pipelines.gold.state_ranges import state_ranges
from pipelines.replay.written import CHANGE, WRITTEN
from pipelines.tables.gold import METADATA_CHANGES, METADATA_HISTORY, STATE_RANGES
from tests.pipelines.cluster.record_rows import Row, branch, replayed, tail
from tests.replica.metadata.image.made import OTHER_TOPIC, config, remove_topic, topic


def changed(commitment: str | None, new: str = "x", offset: int = 5, old: str | None = None) -> Row:
    """A change as the replay tells it."""
    return {
        **{"what": CHANGE, "cluster_id": "c", "entity": "topic", "key": "k", "name": "n"},
        **{"record_offset": offset, "leader_epoch": 1, "record_type": "TOPIC_RECORD"},
        **{"change": "topic_created", "old": old, "new": new, "commitment": commitment},
    }


def tables_of(written: pa.Table) -> dict[str, list[Row]]:
    made = {
        METADATA_HISTORY: metadata_history(written),
        METADATA_CHANGES: metadata_changes(written),
        STATE_RANGES: state_ranges(written),
    }
    return {contract.name: rows.to_pylist() for contract, rows in made.items()}


def written(rows: list[Row], tails: list[Row] | None = None) -> pa.Table:
    return replayed(rows, [], [], tails or []).written


def told(*rows: Row) -> list[tuple[int, str | None, str | None]]:
    table = metadata_changes(pa.Table.from_pylist(list(rows), schema=WRITTEN))
    return [(row["offset"], row["new"], row["commitment"]) for row in table.to_pylist()]


def test_the_tables_have_the_columns_of_their_contracts() -> None:
    lost = tail([topic("ghost", OTHER_TOPIC)], 1)
    tables = tables_of(written(branch([topic(), config("1")]), lost))
    for contract in (METADATA_HISTORY, METADATA_CHANGES, STATE_RANGES):
        rows = tables[contract.name]
        assert rows
        assert all(row.keys() == set(contract.column_names) for row in rows)
    assert tables[STATE_RANGES.name] == [
        {"cluster_id": rows[0]["cluster_id"], "from_offset": 0, "to_offset": 2}
    ]


def test_a_lake_without_records_has_no_rows() -> None:
    assert tables_of(written([])) == {
        METADATA_HISTORY.name: [],
        METADATA_CHANGES.name: [],
        STATE_RANGES.name: [],
    }


def test_a_change_says_when_it_took_effect_and_at_which_record() -> None:
    rows = branch([topic(), remove_topic()])
    changes = tables_of(written(rows))[METADATA_CHANGES.name]
    assert [(c["change"], c["offset"], c["at"]) for c in changes] == [
        ("topic_created", 0, rows[0]["timestamp"]),
        ("topic_deleted", 1, rows[1]["timestamp"]),
    ]


def test_records_that_two_losing_branches_share_are_told_once() -> None:
    tails = [*tail([topic()], 1, "one"), *tail([topic()], 1, "two", node_id=3)]
    changes = tables_of(written(branch([config("1")] * 3), tails))[METADATA_CHANGES.name]
    lost = [row for row in changes if row["commitment"] == "superseded"]
    assert [(row["change"], row["offset"]) for row in lost] == [("topic_created", 1)]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ((changed("superseded"), changed("unproven")), (5, "x", "unproven")),
        ((changed("superseded", "b"), changed("superseded", "a")), (5, "a", "superseded")),
        ((changed(None), changed("superseded")), (5, "x", "superseded")),
        ((changed("superseded"), changed("proven", "y")), (5, "y", "proven")),
        ((changed("unproven", "b", old="z"), changed("unproven", "b")), (5, "b", "unproven")),
    ],
)
def test_of_changes_with_one_key_one_is_kept(
    rows: tuple[Row, Row], kept: tuple[int, str, str]
) -> None:
    assert told(*rows) == told(*reversed(rows)) == [kept]


def test_an_unproven_change_stands_beside_a_proven_one_of_its_key() -> None:
    assert len(told(changed("unproven", "a"), changed("proven", "b"))) == 2


def test_changes_of_other_offsets_stay() -> None:
    assert len(told(changed("superseded"), changed("proven", offset=6))) == 2
