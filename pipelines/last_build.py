"""The inputs and outputs of a lake's last build, kept in the lake: by them a build knows which
clusters it need not derive again.

A cluster has changed if bronze.captures has other captures of it. All clusters count as changed if
another version of the functions derived them, if bronze was changed by anything but an ingest, or
if a derived table isn't as the build left it. A table that was removed and made again can have the
same version, so the table's id in its Delta log counts, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable

from pipelines.delta.committing import INGEST
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_states, open_if_there
from pipelines.lake.passing_over import passed_over_in
from pipelines.quality.judge import Judgement
from pipelines.tables.bronze import BRONZE
from pipelines.tables.of_a_lake import TABLES

FILE_NAME = "_last_build"
DERIVATION = 12
"""The version of the functions that derive tables. Raise it with a change of these functions that
changes rows."""
_NAMES = frozenset(contract.name for contract in TABLES)
_BRONZE = tuple(contract.name for contract in BRONZE)
_HARMLESS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "CREATE TABLE")
"""Operations of Delta that leave a table's rows as they are."""

TableState = tuple[str, int]
"""The id of a table, and its version."""
ClusterState = tuple[int, int]
"""The number of a cluster's newest ingest round, and the number of its rows in bronze.captures."""


@dataclass(frozen=True)
class LastBuild:
    """A build that succeeded."""

    derivation: int
    """The value that DERIVATION had at that build."""
    tables: Mapping[str, TableState]
    """The state of each table, by name: of bronze as it was read, of derived tables as they were
    written."""
    rows: Mapping[str, int]
    """The row counts that the build returned, by table name."""
    clusters: Mapping[str, ClusterState]
    """The state of each cluster."""
    judgements: tuple[Judgement, ...]
    """The judgements of all rows, of bronze and of derived tables."""
    passed_over: str = ""
    """The text of the types of records that the build passed over."""

    def still_holds(self, lake: Lake) -> bool:
        """Whether nothing has changed since this build, so that another one would change no
        table."""
        is_same = newest_states(lake, self.tables) == self.tables
        return self.derivation == DERIVATION and self._passes_over_alike(lake) and is_same

    def can_be_continued(self, lake: Lake) -> bool:
        """Whether the rows of unchanged clusters can be kept, because this release would make the
        same rows."""
        derived = {name: one for name, one in self.tables.items() if name not in _BRONZE}
        return (
            self.derivation == DERIVATION
            and self._passes_over_alike(lake)
            and newest_states(lake, derived) == derived
            and all(self._only_grew(lake, name) for name in _BRONZE)
        )

    def _passes_over_alike(self, lake: Lake) -> bool:
        return self.passed_over == passed_over_in(lake).text

    def _only_grew(self, lake: Lake, name: str) -> bool:
        """Whether only ingests have changed a table of bronze since this build."""
        if name not in self.tables:
            return False
        table_id, version = self.tables[name]
        table = open_if_there(lake, name)
        if table is None or str(table.metadata().id) != table_id or table.version() < version:
            return False
        since = _commits_since(table, version)
        is_known = len(since) == table.version() - version  # old entries of the log are deleted
        return is_known and all(map(_is_of_ingest, since))


def _commits_since(table: DeltaTable, version: int) -> list[dict[str, Any]]:
    count = table.version() - version
    return [one for one in table.history(count) if one["version"] > version] if count else []


def _is_of_ingest(commit: Mapping[str, Any]) -> bool:
    return commit.get("operation") in _HARMLESS or INGEST.items() <= commit.items()


def last_build(lake: Lake) -> LastBuild | None:
    """The last build. None where it is unknown, and where the file has another form, because
    another release or a person wrote it."""
    content = lake.read(FILE_NAME)
    try:
        return None if content is None else _parsed(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _parsed(told: Any) -> LastBuild:
    """The build of the file's content. Raises ValueError, TypeError, KeyError or AttributeError
    for a content that note_build never writes."""
    tables = {name: (str(table), int(at)) for name, (table, at) in told["tables"].items()}
    rows = {name: int(count) for name, count in told["rows"].items()}
    if not tables or not tables.keys() | rows.keys() <= _NAMES:
        raise ValueError("other tables than a build reads and writes")
    clusters = {str(one): (int(seq), int(n)) for one, (seq, n) in told["clusters"].items()}
    return LastBuild(
        int(told["derivation"]),
        tables,
        rows,
        clusters,
        (*map(_judgement, told["judgements"]),),
        str(told.get("passed_over", "")),
    )


def _judgement(told: Any) -> Judgement:
    table, cluster_id, rows, broken, samples = told
    found = {int(number): tuple(map(str, keys)) for number, keys in samples.items()}
    return Judgement(str(table), str(cluster_id), int(rows), tuple(map(int, broken)), found)


def note_build(
    lake: Lake,
    tables: Mapping[str, TableState],
    rows: Mapping[str, int],
    clusters: Mapping[str, ClusterState],
    judgements: Iterable[Judgement],
    passed_over: str = "",
) -> None:
    """Writes the inputs and outputs of a build into the lake, as the last step of the build.
    tables, passed_over: as in LastBuild. Raises UnwritableFileError, OSError."""
    told = {
        "derivation": DERIVATION,
        "tables": dict(tables),
        "rows": dict(rows),
        "clusters": dict(clusters),
        "passed_over": passed_over,
        "judgements": [
            (one.table, one.cluster_id, one.row_count, one.broken, dict(one.samples))
            for one in judgements
        ],
    }
    lake.write(FILE_NAME, json.dumps(told, separators=(",", ":")).encode())
