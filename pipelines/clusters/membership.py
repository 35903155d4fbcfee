"""The members of all rounds, of which some findings are told across clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from pipelines.in_memory.batches import Batches
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.control import snapshot_voter_sets
from pipelines.in_memory.membership import RoundMember, members_of, with_neighbours
from pipelines.in_memory.rows import of_cluster
from pipelines.quality.admitted import Admitted
from pipelines.tables import bronze

_CLUSTERS_AT_ONCE = 10


def members(admitted: Admitted) -> Iterator[RoundMember]:
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
        compared = [one for one in some if one in neighbours]
        batches = admitted.rows_of(bronze.LOG_BATCHES, compared)
        for one in some:
            looks, in_snapshots, state = (of_cluster(rows, one) for rows in small)
            rows = BronzeRows(
                captures=looks.to_pylist(),
                batches=Batches.of(of_cluster(batches, one)),
                records=bronze.LOG_RECORDS.arrow_schema.empty_table(),
                snapshots=[],
                snapshot_records=in_snapshots,
                state=state.to_pylist(),
                found=[],
            )
            yield from members_of(rows, snapshot_voter_sets(in_snapshots), compared=one in compared)
