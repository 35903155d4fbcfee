"""Which clusters a build derives, how large they are, and which files their rows lie in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from pipelines.dialects import DATA_FUSION, Sql
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.last_build import ClusterState, LastBuild
from pipelines.stages.output import Replaced
from pipelines.stages.pins import Pins
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER
from replica.errors import UsageError

DERIVED = (*SILVER, *GOLD)
_CAPTURES = """\
SELECT cluster_id, max(ingest_seq) AS newest, count(*) AS captures FROM bronze_captures
GROUP BY cluster_id"""


def check_ingested(lake: Lake) -> None:
    """Raises UsageError where the lake has no bronze tables."""
    if open_if_there(lake, bronze.CAPTURES.name) is None:
        raise UsageError(
            f"{lake.root} has no bronze tables: run "
            f"`{lake.command('ingest', 'PATH...')}` first, or name another lake"
        )


@dataclass(frozen=True)
class DataFile:
    """A data file of a table, as the table's log describes it."""

    name: str
    rows: int
    size_bytes: int
    low: str
    """The least cluster_id in the file."""
    high: str
    """The greatest cluster_id in the file."""
    first: int = 0
    """The least base offset in the file (inclusive); 0 for a table without this column."""
    last: int = 0
    """The greatest base offset in the file (inclusive); 0 for a table without this column."""

    def may_hold(self, cluster_id: str) -> bool:
        """Whether the file may have rows of the cluster."""
        return self.low <= cluster_id <= self.high


def files_of(pins: Pins, contract: Contract) -> list[DataFile]:
    """The table's files; none where the table isn't pinned."""
    if contract.name not in pins.versions:
        return []
    actions = pa.table(pins.table(contract.name).get_add_actions(flatten=True))
    count = actions.num_rows

    def column(name: str, default: object) -> list[object]:
        there = name in actions.column_names
        found = actions[name].to_pylist() if there else [None] * count
        return [default if one is None else one for one in found]

    names = ("path", "num_records", "size_bytes")
    columns = [column(name, 0) for name in names]
    columns += [column("min.cluster_id", ""), column("max.cluster_id", "\U0010ffff")]
    columns += [column("min.base_offset", 0), column("max.base_offset", 0)]
    return [DataFile(*row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class ClusterSize:
    """How large a cluster is in bronze."""

    records: int
    """The approximate number of records of the cluster's logs and snapshots."""
    file_bytes: int
    """The bytes of the data files that have some of these records."""


@dataclass(frozen=True)
class ChangedClusters:
    """The clusters of a lake."""

    pins: Pins
    """The tables that the build reads, at fixed versions."""
    before: LastBuild | None
    """The build before, whose rows of unchanged clusters are kept; None where no rows are kept."""

    @cached_property
    def all(self) -> dict[str, ClusterState]:
        """The state of each cluster, by cluster_id."""
        rows = self.pins.answer([bronze.CAPTURES.name], _CAPTURES)
        found = [row for batch in rows for row in batch.to_pylist()]
        found.sort(key=lambda row: row["cluster_id"])
        return {row["cluster_id"]: (row["newest"], row["captures"]) for row in found}

    @cached_property
    def changed(self) -> list[str]:
        """The clusters whose derived tables have to be made anew."""
        known = {} if self.before is None else self.before.clusters
        return [one for one, state in self.all.items() if known.get(one) != state]

    @cached_property
    def removed(self) -> list[str]:
        """The clusters that have no capture in bronze, and may still have rows in derived
        tables."""
        held: set[str] = set()
        for contract in DERIVED:
            for file in self._files[contract]:
                held |= {file.low, file.high} if file.low else set()
        if self.before is not None:
            held |= {*self.before.clusters}
        return sorted(held - {*self.all})

    @cached_property
    def new_rounds(self) -> frozenset[int]:
        """The ingest rounds that no build has judged yet."""
        known = [] if self.before is None else [seq for seq, _ in self.before.clusters.values()]
        newest = max(known, default=0)
        rows = self.pins.columns(bronze.CAPTURES, ["ingest_seq"], f"ingest_seq > {newest}")
        return frozenset(rows["ingest_seq"].to_pylist())

    @cached_property
    def _files(self) -> dict[Contract, list[DataFile]]:
        return {one: files_of(self.pins, one) for one in DERIVED}

    @cached_property
    def sizes(self) -> dict[str, ClusterSize]:
        """The size of each changed cluster. After `maintain` a file has the rows of several
        clusters, and counts for each of them."""
        records: defaultdict[str, int] = defaultdict(int)
        size: defaultdict[str, int] = defaultdict(int)
        ids = np.array([*self.all], dtype=object)
        for contract in (bronze.LOG_RECORDS, bronze.SNAPSHOT_RECORDS):
            files = files_of(self.pins, contract)
            shared = [one for one in files if one.low != one.high]
            counts = self._by_cluster(contract, "count(*)", "true") if shared else {}
            for file in files:
                low, high = np.searchsorted(ids, [file.low, file.high])
                here = ids[low : high + 1].tolist()
                for one in here if file.low == file.high else ():
                    records[one] += file.rows
                for one in here:
                    size[one] += file.size_bytes
            for one, count in counts.items():
                records[one] = max(records[one], count)
        return {one: ClusterSize(records[one], size[one]) for one in self.changed}

    def value_bytes(self, clusters: Sequence[str]) -> dict[str, int]:
        """The bytes of the values of all records of these clusters, decompressed."""
        found: defaultdict[str, int] = defaultdict(int)
        number: Sql = "sum(octet_length(encode(value, 'hex'))) / 2"  # two hex digits for a byte
        for contract in (bronze.LOG_RECORDS, bronze.SNAPSHOT_RECORDS) if clusters else ():
            where = DATA_FUSION.of_clusters(clusters)
            for one, size in self._by_cluster(contract, number, where).items():
                found[one] += size
        return found

    def _by_cluster(self, contract: Contract, number: Sql, where: Sql) -> dict[str, int]:
        """For each cluster of a table, the value of the aggregate `number` over the rows that
        fulfil `where`."""
        name = DATA_FUSION.identifier(contract.name.replace(".", "_"))
        query = f"SELECT cluster_id, {number} AS n FROM {name} WHERE {where} GROUP BY cluster_id"
        rows = self.pins.answer([contract.name], query)
        found = (row for batch in rows for row in batch.to_pylist())
        return {row["cluster_id"]: int(row["n"] or 0) for row in found}

    def replaced(self, groups: Sequence[tuple[str, ...]]) -> list[Replaced]:
        """For each group of clusters, the rows and files that its new rows replace. Each replaced
        file belongs to one group. groups: all changed clusters and all removed clusters."""
        of_group = {one: number for number, group in enumerate(groups) for one in group}
        ids = np.array(sorted(of_group), dtype=object)
        own: list[dict[str, list[str]]] = [defaultdict(list) for _ in groups]
        shared: list[dict[str, list[str]]] = [defaultdict(list) for _ in groups]
        gone: list[set[str]] = [set() for _ in groups]
        is_whole = self.before is None
        for contract in DERIVED:
            if contract.change_feed:
                continue
            for file in self._files[contract]:
                low = np.searchsorted(ids, file.low, side="left")
                high = np.searchsorted(ids, file.high, side="right")
                here = ids[low:high].tolist()
                if not here:
                    continue
                number = of_group[here[0]]
                if is_whole or file.low == file.high:
                    own[number][contract.name].append(file.name)
                else:
                    shared[number][contract.name].append(file.name)
                    gone[number] |= {*here}
        named = (
            [{n: tuple(some) for n, some in one.items()} for one in both] for both in (own, shared)
        )
        columns = zip(groups, *named, map(sorted, gone), strict=True)
        return [Replaced(group, one, other, tuple(ids)) for group, one, other, ids in columns]


def cluster_groups(records: Mapping[str, int], at_once: int) -> list[tuple[str, ...]]:
    """The clusters in groups of neighbours. A group has at most `at_once` records, or it is a
    single cluster. records: by cluster_id."""
    groups: list[list[str]] = []
    size = 0
    for cluster_id, count in sorted(records.items()):
        if not groups or size + count > at_once:
            groups.append([])
            size = 0
        groups[-1].append(cluster_id)
        size += count
    return [tuple(clusters) for clusters in groups]


def offset_ranges(
    files: Iterable[DataFile], cluster_id: str, at_once: int
) -> Iterator[tuple[int, int, int]]:
    """Divides a cluster's records into ranges of base offsets, of about `at_once` records each.

    files: the data files of bronze.log_records. Gives for each range its first base offset
    (inclusive), its end (exclusive), and about how many records it has.
    """
    mine = [one for one in files if one.may_hold(cluster_id)]
    total = sum(one.rows for one in mine)
    if not mine:
        return
    points = np.concatenate([np.linspace(one.first, one.last, 64) for one in mine])
    weights = np.concatenate([np.full(64, one.rows / 64) for one in mine])
    order = np.argsort(points)
    upto = np.cumsum(weights[order])
    count = max(1, -(-total // at_once))
    places = np.searchsorted(upto, total * np.arange(1, count) / count)
    cuts = np.unique(points[order][places].astype(np.int64)).tolist()
    bounds = [0, *(cut for cut in cuts if cut > 0), (1 << 63) - 1]
    for low, high in pairwise(bounds):
        yield low, high, total // count
