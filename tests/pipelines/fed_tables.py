"""The changes that the feeds of gold have of a build, compared with the tables' rows before and
after it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from pipelines.tables.gold import GOLD
from tests.bench.same_tables import rows

FED = [contract for contract in GOLD if contract.change_feed]
_OF_THE_FEED = {"_change_type", "_commit_version", "_commit_timestamp"}
Row = dict[str, Any]


@dataclass(frozen=True)
class FedTables:
    """The earlier rows of a lake's tables that have a feed."""

    lake: Path
    versions: dict[str, int]
    rows: dict[str, Counter[str]]
    """The rows in the form of tests.bench.same_tables.rows."""

    @staticmethod
    def of(lake: Path) -> FedTables:
        names = [contract.name for contract in FED]
        versions = {name: _opened(lake, name).version() for name in names}
        return FedTables(lake, versions, {name: rows(str(lake), name) for name in names})

    def told(self) -> dict[str, list[Row]]:
        """The changes in the feeds since then, by table. Asserts that they are exactly the rows
        that differ."""
        found = {}
        for name, version in self.versions.items():
            table = _opened(self.lake, name)
            assert table.version() - version in (0, 1), f"{name}: one commit at most"
            found[name] = []
            if table.version() > version:
                feed = table.load_cdf(starting_version=version + 1).read_all()
                found[name] = pa.table(feed).to_pylist()
            after = rows(str(self.lake), name)
            gone = _of_kinds(found[name], "delete", "update_preimage")
            assert gone == self.rows[name] - after, name
            new = _of_kinds(found[name], "insert", "update_postimage")
            assert new == after - self.rows[name], name
        return found


def _of_kinds(feed: list[Row], *kinds: str) -> Counter[str]:
    return Counter(
        repr(sorted(one for one in row.items() if one[0] not in _OF_THE_FEED))
        for row in feed
        if row["_change_type"] in kinds
    )


def _opened(lake: Path, name: str) -> DeltaTable:
    return DeltaTable(str(lake / name.replace(".", "/")))
