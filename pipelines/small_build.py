"""Bronze to silver to gold in this process and a few like it, without a JVM.

The tables are equal to those of pipelines.build, row for row, and so are the gates between the
layers. Clusters are computed one by one, and only clusters with a row of bronze that has changed
since the last build. So memory grows with the largest cluster, and not with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from tempfile import TemporaryDirectory

import pyarrow as pa

from pipelines import delta
from pipelines.clusters.computing import (
    ClusterBatch,
    compute,
    findings_between,
    neighbours,
    table_of,
)
from pipelines.clusters.digests import digests_of
from pipelines.delta.contents import ClusterRows, put, put_all
from pipelines.delta.small import of_clusters, text
from pipelines.lake.delta_rs import open_if_there
from pipelines.lake.lock import between_ingests
from pipelines.last_build import Building, LastBuild, last_build
from pipelines.quality.small_gate import SmallGate
from pipelines.quality.unbroken import Parts, QueryableTables, opened
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.gold import FINDINGS, GOLD
from pipelines.tables.silver import SILVER
from pipelines.tasks import Tasks, Watched, cores, processes
from replica.check import membership

_MOST_ROWS = 200_000
"""The most rows of one cluster in one table. A row takes a kilobyte or two while its cluster is
computed."""
_MOST_OFFSETS = 1_000_000
"""The most offsets of all batches of one cluster: some tables are made offset by offset."""
_MOST_VALUE_BYTES = 128 * 1024 * 1024
"""The most bytes of the records of one cluster: the values made of them take several times as much
memory."""
_SURELY_SMALL_BYTES = _MOST_VALUE_BYTES // 22
"""The most bytes of a table's files that need no count: Snappy makes texts at most 21 times as
small."""
_RECORDS_AT_ONCE = 20_000
"""How many records of neighbouring clusters are read and computed together."""
_RECORDS_JUDGED = 50_000
"""How many records of several clusters are judged together."""
_RECORDS_OF_A_PROCESS = 60_000
"""How many records take as long to compute as a process takes to start."""


def build_small(
    lake: delta.Lake,
    progress: Callable[[str], None],
    run_id: str | None = None,
    share: Callable[[float], None] = lambda _: None,
) -> dict[str, int] | None:
    """Row counts by table name. None where Spark has to build: a cluster isn't small, or rows of
    silver are to be left out of gold. The parameters and errors are those of pipelines.build."""
    if open_if_there(lake, bronze.CAPTURES.name) is None:
        return None
    with between_ingests(lake, progress):
        inputs = _Inputs.of(lake)
    if not inputs.are_small:
        return None
    with (
        SmallGate(lake, progress, run_id) as gate,
        TemporaryDirectory(prefix="kraftlake-build-") as folder,
        processes(inputs.processes) as tasks,
    ):
        steps = len(SILVER) + len(GOLD) + 3 + len(inputs.changed)
        building = _Building(lake, progress, share, steps, gate, inputs, folder, tasks)
        if not building.run():
            gate.leave_to_spark()
            return None
    building.note(gate.results, inputs.digests, gate.unbroken)
    return building.counts


@dataclass(frozen=True)
class _Inputs:
    """Bronze as a build reads it. before: the last build; None where none of its rows can be
    kept."""

    layer: QueryableTables
    before: LastBuild | None

    @staticmethod
    def of(lake: delta.Lake) -> _Inputs:
        """The inputs. Raises UsageError where a table of bronze is missing."""
        last, written = last_build(lake), [one.name for one in (*SILVER, *GOLD)]
        is_known = last is not None and last.clusters and last.still_holds(lake, written)
        return _Inputs(opened(lake, bronze.BRONZE), last if is_known else None)

    @cached_property
    def are_small(self) -> bool:
        """Whether no cluster has more rows in a table, or bytes in its records, than are computed
        without Spark."""
        return all(
            count <= _MOST_ROWS for counts in self._counts.values() for count in counts.values()
        ) and all(size <= _MOST_VALUE_BYTES for size in self._value_bytes().values())

    @cached_property
    def _counts(self) -> dict[Contract, Counter[str]]:
        """The number of rows of each cluster in each table."""
        return {one: self._by_cluster(one, "count(*)") for one in bronze.DERIVED_FROM}

    def _value_bytes(self) -> Counter[str]:
        """The bytes of the records of each cluster, in tables where these may be many."""
        found: Counter[str] = Counter()
        for contract in (bronze.LOG_RECORDS, bronze.SNAPSHOT_RECORDS):
            files = pa.table(self.layer.tables[contract.name].get_add_actions(flatten=True))
            if sum(files["size_bytes"].to_pylist()) <= _SURELY_SMALL_BYTES:
                continue
            # two hex digits for a byte
            found += self._by_cluster(contract, "sum(octet_length(encode(value, 'hex'))) / 2")
        return found

    def _by_cluster(self, contract: Contract, number: str) -> Counter[str]:
        """A number for each cluster of a table. number: an aggregate in SQL."""
        name = contract.name.replace(".", "_")
        query = f"SELECT cluster_id, {number} AS n FROM {name} GROUP BY 1"  # noqa: S608 - our own names
        rows = self.layer.answer(query).to_pylist()
        return Counter({row["cluster_id"]: row["n"] or 0 for row in rows})

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of each cluster, by cluster_id."""
        return digests_of(self.layer, sorted({one for of in self._counts.values() for one in of}))

    @cached_property
    def _records(self) -> Counter[str]:
        return self._counts[bronze.LOG_RECORDS] + self._counts[bronze.SNAPSHOT_RECORDS]

    @cached_property
    def changed(self) -> Counter[str]:
        """How many records each cluster has that must be computed."""
        known = {} if self.before is None else self.before.clusters
        changed = (one for one, digest in self.digests.items() if known.get(one) != digest)
        return Counter({one: self._records[one] for one in changed})

    @property
    def processes(self) -> int:
        """The number of processes that compute them in the least time."""
        return min(cores(), len(self.changed), 1 + self.changed.total() // _RECORDS_OF_A_PROCESS)

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """All clusters, in groups whose rows are judged together."""
        return neighbours({one: self._records[one] for one in self.digests}, _RECORDS_JUDGED)

    @cached_property
    def kept(self) -> list[str]:
        """The clusters whose derived rows are already those that a build would make."""
        return [one for one in self.digests if one not in self.changed]


@dataclass
class _Building(Building):
    """A build without Spark, whose steps are the gates, the clusters and the tables. folder: holds
    the rows that one process hands to another through files. tasks: where the tables of clusters
    are computed."""

    gate: SmallGate
    inputs: _Inputs
    folder: str
    tasks: Tasks

    def run(self) -> bool:
        """Builds. False where Spark has to build, from the beginning."""
        if not self._admit("bronze", bronze.BRONZE, self.inputs.layer):
            return False
        computed = self._computed()
        if computed is None:
            return False
        self._write(SILVER, computed)
        if not self._admit("silver", SILVER):
            return False
        self._write(GOLD, computed)
        return self._admit("gold", GOLD)

    def _admit(
        self, layer: str, tables: Sequence[Contract], there: QueryableTables | None = None
    ) -> bool:
        self.progress(f"quality of {layer}")
        inputs, before = self.inputs, self.inputs.before
        unbroken = frozenset(() if before is None else before.unbroken)
        parts = Parts(inputs.groups, self.tasks, frozenset(inputs.changed), unbroken)
        # gold is computed along with silver, so silver can't lose rows on the way
        admitted = self.gate.admit(tables, leave_out=layer == "bronze", layer=there, parts=parts)
        self.done()
        return admitted

    def _computed(self) -> list[dict[str, ClusterRows]] | None:
        """The rows of changed clusters, in parts; None where Spark has to build."""
        records = self.inputs.changed
        if self.inputs.before is not None:
            self.progress(f"{len(records)} of {len(self.inputs.digests)} clusters have changed")
        if len(records) > 1:
            self.progress(f"{len(records)} clusters, {records.total()} records")
        parts = [
            ClusterBatch(self.gate.admitted, clusters, self.folder, _MOST_OFFSETS)
            for clusters in neighbours(records, _RECORDS_AT_ONCE)
        ]
        computed: list[dict[str, ClusterRows]] = []
        tasks = Watched(self.tasks, lambda part: self.done(len(part.clusters)))
        for found in tasks.map(compute, parts):
            if found is None:
                return None
            computed.append(found)
        return computed

    def _write(
        self, contracts: Iterable[Contract], computed: Sequence[dict[str, ClusterRows]]
    ) -> None:
        for contract in contracts:
            with self.writing(contract):
                pieces = [part[contract.name] for part in computed]
                if contract is FINDINGS:
                    put_all(self.lake, contract, self._findings(pieces))
                else:
                    put(self.lake, contract, pieces, self.inputs.kept)

    def _findings(self, pieces: Iterable[ClusterRows]) -> pa.Table:
        """All findings: those between clusters may change where one of the clusters does."""
        rules = ", ".join(text(rule.id) for rule in membership.RULES)
        kept = f"rule NOT IN ({rules}) AND {of_clusters(self.inputs.kept)}"
        version = delta.size(self.lake, FINDINGS).version
        return pa.concat_tables(
            [
                delta.rows_where(self.lake, FINDINGS, kept, version),
                *(piece.read() for piece in pieces),
                table_of(FINDINGS, findings_between(self.gate.admitted)),
            ]
        )
