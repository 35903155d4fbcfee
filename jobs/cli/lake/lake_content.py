"""The queries behind `kraftlake lake`: the clusters, replicas, offsets, captures and tables in a
lake. delta-rs answers them.

An offset is held where some capture has an undamaged batch with it. A gap is a range that
bronze.log_batches lacks between the lowest log start and the highest log end of all captures. The
present log start and end of a replica are those of the newest capture of its whole log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.cli.asking.sql_delta_rs import named_rows, opened_table
from pipelines.capture_rounds import Round, rounds_sql
from pipelines.dialects import DATA_FUSION
from pipelines.lake import Lake
from pipelines.tables.keys import REPLICA_KEYS
from replica.history.log import OffsetRange
from replica.history.ranges import Ranges, difference

_CLUSTER = ("cluster_id",)
_CAPTURES = """\
SELECT capture_id, capture_group, cluster_id, node_id, directory_id, captured_at, ingest_seq,
       round_name, has_own_time, log_start_offset, log_end_offset, source
FROM bronze.captures
ORDER BY cluster_id, captured_at, node_id, directory_id"""
_LOOKED_AT = """\
SELECT {owner}, count(*) AS captures, min(captured_at) AS first_captured,
       max(captured_at) AS last_captured,
       min(CASE WHEN age = 1 THEN log_start_offset END) AS log_start_offset,
       max(CASE WHEN age = 1 THEN log_end_offset END) AS log_end_offset,
       min(log_start_offset) AS lowest_start, max(log_end_offset) AS highest_end
FROM (SELECT *, row_number() OVER (PARTITION BY cluster_id, node_id, directory_id
                                   ORDER BY is_fragment, captured_at DESC, ingest_seq DESC) AS age
      FROM bronze.captures) AS ranked
GROUP BY {owner} ORDER BY {owner}"""
_VERSIONS = """\
SELECT at, action, schema_version, release FROM bronze.lake_versions ORDER BY at"""
# A run begins where a batch starts after the end of every batch that starts before it.
_HELD = """\
SELECT {owner}, min(base_offset) AS start, max(last_offset) + 1 AS stop
FROM (SELECT *, sum(begins) OVER (PARTITION BY {owner} ORDER BY base_offset, last_offset) AS run
      FROM (SELECT {owner}, base_offset, last_offset,
                   CASE WHEN base_offset > 1 + max(last_offset) OVER (
                     PARTITION BY {owner} ORDER BY base_offset, last_offset
                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                   ) THEN 1 ELSE 0 END AS begins
            FROM bronze.log_batches WHERE crc_valid) AS batches) AS runs
GROUP BY {owner}, run ORDER BY {owner}, start"""


@dataclass(frozen=True, slots=True)
class HeldLog:
    """The part of a log that the captures of a cluster, or of one replica, hold."""

    owner: Mapping[str, str | int]
    """cluster_id, and for a replica node_id and directory_id."""
    captures: int
    first_captured: datetime
    last_captured: datetime
    log_start_offset: int
    """The log start in the newest capture of the replica; for a cluster the lowest log start of its
    replicas."""
    log_end_offset: int
    """The log end (exclusive) in the newest capture of the replica; for a cluster the highest log
    end of its replicas."""
    lowest_start: int
    """The lowest log start of all captures."""
    highest_end: int
    """The highest log end (exclusive) of all captures."""
    held: Ranges

    @property
    def gaps(self) -> Ranges:
        """The offsets from the lowest start to the highest end that no capture holds."""
        return difference((OffsetRange(self.lowest_start, self.highest_end),), self.held)


def clusters(lake: Lake) -> list[HeldLog]:
    """The offsets that each cluster holds, in any of its replicas."""
    return _held(lake, _CLUSTER)


def replicas(lake: Lake) -> list[HeldLog]:
    """The offsets that each replica of each cluster holds."""
    return _held(lake, REPLICA_KEYS)


def captures(lake: Lake) -> list[dict[str, Any]]:
    """Rows of bronze.captures without the files, oldest first in each cluster."""
    return list(named_rows(lake, _CAPTURES))


def rounds(lake: Lake) -> list[Round]:
    """The rounds of captures, oldest first in each cluster."""
    return [Round(**row) for row in named_rows(lake, rounds_sql("true"))]


def tables(lake: Lake, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The tables of these names: name, version (the newest), files (the number of its data files),
    size_bytes (their bytes) and rows. Raises UnreadableFileError for a table that can't be opened.
    """
    for name in names:
        with opened_table(lake, name) as table:
            sizes = table.get_add_actions(flatten=True).column("size_bytes").to_pylist()
        count = f"SELECT count(*) AS rows FROM {DATA_FUSION.table(name)}"
        of_files = {"files": len(sizes), "size_bytes": sum(sizes)}
        counted = next(named_rows(lake, count))
        yield {"name": name, "version": table.version(), **of_files, **counted}


def versions(lake: Lake, names: Iterable[str]) -> list[dict[str, Any]]:
    """Rows of bronze.lake_versions, oldest first; empty where the lake is older than that table.
    names: the lake's tables."""
    return list(named_rows(lake, _VERSIONS)) if "bronze.lake_versions" in names else []


def _held(lake: Lake, columns: Sequence[str]) -> list[HeldLog]:
    owner = ", ".join(columns)
    ranges: dict[tuple[Any, ...], list[OffsetRange]] = {}
    for row in named_rows(lake, _HELD.format(owner=owner)):
        key = tuple(row[name] for name in columns)
        ranges.setdefault(key, []).append(OffsetRange(row["start"], row["stop"]))
    found = []
    for row in named_rows(lake, _LOOKED_AT.format(owner=owner)):
        whose = {name: row.pop(name) for name in columns}
        found.append(HeldLog(whose, **row, held=tuple(ranges.get(tuple(whose.values()), ()))))
    return found
