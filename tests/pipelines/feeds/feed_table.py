"""Tables with a change feed, written by delta-rs, which takes ms where Spark takes seconds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.values import FEEDS, Feed

Row = dict[str, Any]
CHANGES, FINDINGS = "gold.metadata_changes", "gold.findings"
_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
}


class FeedTable:
    """A table of `lake` by its contract. It is made empty, as version 0, where it doesn't exist."""

    def __init__(self, lake: Path, name: str) -> None:
        self.feed: Feed = FEEDS[name]
        self.path = str(lake.joinpath(*name.split(".")))
        if not DeltaTable.is_deltatable(self.path):
            write_deltalake(self.path, self._arrow([]), configuration=self.feed.contract.properties)

    @property
    def version(self) -> int:
        return int(DeltaTable(self.path).version())

    def opened(self) -> ChangeFeed:
        return ChangeFeed(self.path, self.feed)

    def replace(self, rows: Iterable[Row]) -> int:
        """Makes the rows the table's content by a MERGE. Gives the new version."""
        contract = self.feed.contract
        equal = " AND ".join(f'(t."{k}" IS NOT DISTINCT FROM s."{k}")' for k in contract.keys)
        others = [name for name in contract.column_names if name not in contract.keys]
        differs = " OR ".join(f'(t."{n}" IS DISTINCT FROM s."{n}")' for n in others)
        (
            DeltaTable(self.path)
            .merge(self._arrow(rows), equal, source_alias="s", target_alias="t")
            .when_matched_update_all(differs)
            .when_not_matched_insert_all()
            .when_not_matched_by_source_delete()
            .execute()
        )
        return self.version

    def overwrite(self, rows: Iterable[Row]) -> int:
        """Makes the rows the table's content, with every file new. Gives the new version."""
        write_deltalake(self.path, self._arrow(rows), mode="overwrite")
        return self.version

    def _arrow(self, rows: Iterable[Row]) -> pa.Table:
        columns = self.feed.contract.columns
        fields = [pa.field(c.name, _TYPES[str(c.type)], c.nullable) for c in columns]
        return pa.Table.from_pylist(list(rows), schema=pa.schema(fields))


def change(offset: int, **others: Any) -> Row:
    """A row of gold.metadata_changes."""
    return {
        "cluster_id": "Lr3UIdBxT-GFPYE5uprmrg",
        "entity": "partition",
        "key": f"topic:{offset % 3}",
        "name": f"orders-{offset % 3}",
        "change": "leader_changed",
        "old": '{"leader":1}',
        "new": '{"leader":2}',
        "offset": offset,
        "at": 1_795_231_274_241_000 + offset * 1_000_000,
        "leader_epoch": 3,
        "record_type": "PARTITION_CHANGE_RECORD",
        "commitment": "proven",
        **others,
    }


def finding(message: str, **others: Any) -> Row:
    """A row of gold.findings."""
    return {
        "rule": "batch-crc",
        "severity": "error",
        "cluster_id": "Lr3UIdBxT-GFPYE5uprmrg",
        "node_id": 2,
        "directory_id": "vVWAweqkRhqksC9dk42J8Q",
        "file": "monday/2/__cluster_metadata-0/00000000000000000000.log",
        "position": 100,
        "offset": 7,
        "epoch": 1,
        "message": message,
        "capture_id": "c1",
        "family": "files",
        "subjects": None,
        **others,
    }
