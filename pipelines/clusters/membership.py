"""The members of all rounds, of which some findings are told across clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.in_memory.control import snapshot_voter_sets
from pipelines.in_memory.held import by_capture, held_batches
from pipelines.in_memory.membership import Member, members_of, with_neighbours
from pipelines.in_memory.rows import BronzeRows, Row
from pipelines.quality.admitted import Admitted
from pipelines.tables import bronze

_CLUSTERS_AT_ONCE = 10


def members(admitted: Admitted) -> Iterator[Member]:
    """A member for each row of bronze.captures. Raises what delta-rs raises."""
    captures = admitted.rows_of(bronze.CAPTURES)
    small = (
        captures,
        admitted.rows_where(bronze.SNAPSHOT_RECORDS, "is_control"),
        admitted.rows_of(bronze.REPLICA_STATE),
    )
    neighbours = with_neighbours(captures.select(["ingest_seq", "cluster_id"]).to_pylist())
    clusters = pc.unique(captures["cluster_id"]).to_pylist()
    for start in range(0, len(clusters), _CLUSTERS_AT_ONCE):
        some = clusters[start : start + _CLUSTERS_AT_ONCE]
        looks, in_snapshots, state = (_of(rows, some) for rows in small)
        compared = [one for one in some if one in neighbours]
        batches = admitted.rows_of(bronze.LOG_BATCHES, compared).to_pylist() if compared else []
        rows = BronzeRows(looks, batches, [], [], in_snapshots, state, [])
        held = by_capture(held_batches(rows, {}))
        yield from members_of(rows, held, snapshot_voter_sets(in_snapshots))


def _of(rows: pa.Table, clusters: Sequence[str]) -> list[Row]:
    mine: list[Row] = rows.filter(
        pc.is_in(rows["cluster_id"], pa.array(clusters, pa.string()))
    ).to_pylist()
    return mine
