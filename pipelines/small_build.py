"""Bronze to silver to gold of a small lake in this process: no JVM is started.

The tables are those of pipelines.build, row for row, and so are the gates between the layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pipelines import delta
from pipelines.delta.contents import put_rows, rows_in
from pipelines.delta_rs import open_if_there
from pipelines.in_memory.derived import derived, gold_tables, silver_tables
from pipelines.in_memory.held import entries_end
from pipelines.in_memory.rows import BronzeRows, Row
from pipelines.last_build import note_build
from pipelines.quality.small_gate import SmallGate
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER

_INPUTS = (
    bronze.CAPTURES,
    bronze.LOG_BATCHES,
    bronze.LOG_RECORDS,
    bronze.SNAPSHOTS,
    bronze.SNAPSHOT_RECORDS,
    bronze.REPLICA_STATE,
    bronze.FINDINGS,
)
"""Of the fields of BronzeRows, in their order."""
_MOST_OFFSETS = 1_000_000
"""Of all batches of a small lake: some tables are made offset by offset."""
_CONTRACTS = {contract.name: contract for contract in (*SILVER, *GOLD)}


def build_small(
    lake: delta.Lake, progress: Callable[[str], None], run_id: str | None = None
) -> dict[str, int] | None:
    """Row counts by table name, as of pipelines.build. None where Spark has to do it: a table of
    bronze isn't small, or rows break an expectation, of which Great Expectations tells more.

    progress, run_id and the errors: as of pipelines.build.
    """
    if not _is_small(lake):
        return None
    with SmallGate(lake, progress, run_id) as gate:
        building = _Building(lake, progress, gate)
        is_built = building.run()
    if not is_built:
        return None
    judged = {one.table.name: one.version for one in gate.results}
    if building.versions.items() <= judged.items():  # or another build wrote in between
        note_build(lake.root, judged, building.counts)
    return building.counts


def _is_small(lake: delta.Lake) -> bool:
    """UsageError where a table of bronze is missing, but for bronze.captures."""
    if open_if_there(lake.root, bronze.CAPTURES.name) is None:
        return False
    return all(delta.size(lake, contract).is_small for contract in bronze.BRONZE)


@dataclass
class _Building:
    """One build. counts, versions: rows of the tables and their versions, by table name."""

    lake: delta.Lake
    progress: Callable[[str], None]
    gate: SmallGate
    counts: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def run(self) -> bool:
        """False where Spark has to go on, from the beginning."""
        if not self._admit("bronze", bronze.BRONZE):
            return False
        rows = self._bronze()
        if rows is None or _offsets(rows) > _MOST_OFFSETS:
            return False
        found = derived(rows)
        self._write(silver_tables(found))
        if not self._admit("silver", SILVER):
            return False
        self._write(gold_tables(found))
        return self._admit("gold", GOLD)

    def _admit(self, layer: str, tables: Iterable[Contract]) -> bool:
        self.progress(f"quality of {layer}")
        return self.gate.admit(tuple(tables))

    def _bronze(self) -> BronzeRows | None:
        """As the gate has judged it; None where it can't be read, of which Spark tells more."""
        versions = {one.table: one.version for one in self.gate.results}
        try:
            return BronzeRows(*(rows_in(self.lake, one, versions[one]) for one in _INPUTS))
        except Exception:  # noqa: BLE001 - delta-rs raises just that where a data file is gone
            return None

    def _write(self, tables: Iterable[tuple[str, list[Row]]]) -> None:
        for name, rows in tables:
            self.progress(name)
            contract = _CONTRACTS[name]
            delta.ensure_table(self.lake, contract)
            self.counts[name] = put_rows(self.lake, contract, rows)
            self.versions[name] = delta.size(self.lake, contract).version


def _offsets(rows: BronzeRows) -> int:
    return sum(max(0, entries_end(row) - row["base_offset"]) for row in rows.batches)
