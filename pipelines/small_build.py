"""Bronze to silver to gold of a small lake in this process: no JVM is started.

The tables are those of pipelines.build, row for row, and so are the gates between the layers. The
clusters are computed one after the other, as no more than one is wanted at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from pipelines import delta
from pipelines.delta.contents import put
from pipelines.in_memory.derived import derived, gold_tables, members, silver_tables
from pipelines.in_memory.held import entries_end
from pipelines.in_memory.judgements import without_repetitions
from pipelines.in_memory.membership import Member, membership_findings
from pipelines.in_memory.rows import BronzeRows, Row
from pipelines.lake.delta_rs import open_if_there
from pipelines.last_build import note_build
from pipelines.quality.small_gate import SmallGate
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.gold import FINDINGS, GOLD
from pipelines.tables.silver import SILVER

_MOST_BYTES = 64 * 1024 * 1024
"""Of bronze's Parquet files."""
_MOST_RECORDS = 600_000
"""Of logs and snapshots in all. 400,000 of them take 1.5 GB of memory while they are built."""
_MOST_ROWS = 200_000
"""Of one cluster in one table. A row takes a kilobyte or two while its cluster is computed."""
_MOST_OFFSETS = 1_000_000
"""Of all batches of one cluster: some tables are made offset by offset."""
_CONTRACTS = {contract.name: contract for contract in (*SILVER, *GOLD)}


def build_small(
    lake: delta.Lake, progress: Callable[[str], None], run_id: str | None = None
) -> dict[str, int] | None:
    """Row counts by table name, as of pipelines.build. None where Spark has to do it: a table of
    bronze isn't small, or rows of silver are to be left out of gold.

    progress, run_id and the errors: as of pipelines.build.
    """
    if not _is_small(lake):
        return None
    with SmallGate(lake, progress, run_id) as gate:
        building = _Building(lake, progress, gate)
        if not building.run():
            gate.leave_to_spark()
            return None
    judged = {one.table.name: one.version for one in gate.results}
    if building.versions.items() <= judged.items():  # or another build wrote in between
        note_build(lake, judged, building.counts)
    return building.counts


def _is_small(lake: delta.Lake) -> bool:
    """UsageError where a table of bronze is missing, but for bronze.captures."""
    if open_if_there(lake, bronze.CAPTURES.name) is None:
        return False
    sizes = {one: delta.size(lake, one) for one in bronze.BRONZE}
    counts = [sizes[one].row_count for one in (bronze.LOG_RECORDS, bronze.SNAPSHOT_RECORDS)]
    records = sum(_MOST_RECORDS + 1 if count is None else count for count in counts)
    return records <= _MOST_RECORDS and sum(one.size_bytes for one in sizes.values()) <= _MOST_BYTES


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
        content = self._bronze()
        if content is None or not _is_small_each(content):
            return False
        tables = self._derived(content)
        if tables is None:
            return False
        self._write(SILVER, tables)
        if not self._admit("silver", SILVER):
            return False
        self._write(GOLD, tables)
        return self._admit("gold", GOLD)

    def _admit(self, layer: str, tables: Iterable[Contract]) -> bool:
        self.progress(f"quality of {layer}")
        # gold is derived in memory along with silver, so silver can't lose rows on the way
        return self.gate.admit(tuple(tables), leave_out=layer == "bronze")

    def _bronze(self) -> list[pa.Table] | None:
        """What the gate admits; None where it can't be read, of which Spark tells more."""
        try:
            return [self.gate.rows_of(one) for one in bronze.DERIVED_FROM]
        except Exception:  # noqa: BLE001 - delta-rs raises just that where a data file is gone
            return None

    def _derived(self, content: Iterable[pa.Table]) -> dict[str, pa.Table] | None:
        """Silver's and gold's tables by name; None where a cluster's batches claim too much."""
        parts: dict[str, list[pa.Table]] = defaultdict(list)
        of_rounds: list[Member] = []
        clusters = _clusters(content)
        for number, cluster_id in enumerate(clusters, 1):
            if len(clusters) > 1:
                self.progress(f"cluster {number} of {len(clusters)}")
            rows = _rows_of(cluster_id, content)
            if _offsets(rows) > _MOST_OFFSETS:
                return None
            found = derived(rows)
            for name, made in chain(silver_tables(found), gold_tables(found)):
                parts[name].append(_table(_CONTRACTS[name], made))
            of_rounds += members(found)
        told = without_repetitions(membership_findings(of_rounds))
        parts[FINDINGS.name].append(_table(FINDINGS, told))
        return {
            one.name: pa.concat_tables([one.arrow_schema.empty_table(), *parts[one.name]])
            for one in (*SILVER, *GOLD)
        }

    def _write(self, contracts: Iterable[Contract], tables: Mapping[str, pa.Table]) -> None:
        for contract in contracts:
            self.progress(contract.name)
            delta.ensure_table(self.lake, contract)
            put(self.lake, contract, tables[contract.name])
            self.counts[contract.name] = tables[contract.name].num_rows
            self.versions[contract.name] = delta.size(self.lake, contract).version


def _clusters(content: Iterable[pa.Table]) -> list[str]:
    ids = (pc.unique(table["cluster_id"]).to_pylist() for table in content)
    return sorted(set(chain.from_iterable(ids)))


def _is_small_each(content: Iterable[pa.Table]) -> bool:
    """Whether no cluster has more rows in a table than are computed in this process."""
    counts = (pc.value_counts(table["cluster_id"]).field("counts") for table in content)
    return all((pc.max(of_table).as_py() or 0) <= _MOST_ROWS for of_table in counts)


def _rows_of(cluster_id: str, content: Iterable[pa.Table]) -> BronzeRows:
    mine = (table.filter(pc.equal(table["cluster_id"], cluster_id)) for table in content)
    return BronzeRows(*(table.to_pylist() for table in mine))


def _table(contract: Contract, rows: Iterable[Row]) -> pa.Table:
    names = contract.column_names
    return pa.Table.from_pylist(
        [{name: row[name] for name in names} for row in rows], contract.arrow_schema
    )


def _offsets(rows: BronzeRows) -> int:
    return sum(max(0, entries_end(row) - row["base_offset"]) for row in rows.batches)
