"""The tables that have a feed."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.tables import gold
from pipelines.tables.contract import Contract


@dataclass(frozen=True)
class Feed:
    """A table with a feed. key: the columns whose values, as JSON, are a message's key. Changes
    with equal keys keep their order."""

    contract: Contract
    key: tuple[str, ...]

    @property
    def name(self) -> str:
        """The table's name."""
        return self.contract.name

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which the changes of one version are sorted: the order of the log, then
        the rest of the table's keys."""
        return ("offset", *(key for key in self.contract.keys if key != "offset"))


FEEDS = {
    feed.name: feed
    for feed in (
        # the changes of one entity stay in order, and a compacted topic keeps the last one
        Feed(gold.METADATA_CHANGES, key=("cluster_id", "entity", "key")),
        Feed(gold.FINDINGS, key=gold.FINDINGS.keys),
    )
}
