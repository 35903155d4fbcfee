"""The contents of snapshots that an earlier build found equal to the log. They aren't replayed
again as long as the log below their ends is unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pipelines.cluster.batches import longs
from pipelines.cluster.rows import Row
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.replay.compared import COUNTS, REPLAYED
from pipelines.replay.plan import CONTENT_IDS, PlannedSnapshot, ReplayPlan
from pipelines.tables.silver import COMMITTED_LOG
from replica.doctor.check.snapshot_validity import Validity
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch

ENTRY = ("offset", "leader_epoch", "crc")
"""The columns of silver.committed_log by which two branches are compared."""
VALID: Sql = (
    f"verdict = {DATA_FUSION.literal(Validity.VALID.value)} "
    "AND cardinality(broken_rules) = 0 AND cardinality(notes) = 0"
)
"""Condition on gold.snapshot_validity: the snapshot has no finding, so it was compared."""
_Ids = tuple[int, int, str]


@dataclass(frozen=True)
class ComparedBefore:
    """The snapshots of a cluster that an earlier build found equal to the log, and the log at that
    build."""

    branch: pa.Table = field(default_factory=COMMITTED_LOG.arrow_columns(ENTRY).empty_table)
    """The columns ENTRY of the cluster's rows of silver.committed_log."""
    equal: Collection[_Ids] = ()
    """End offset, epoch and content of each snapshot that was equal to the log."""
    stayed: int = 0
    """The records below this offset have not changed since the earlier build."""

    def still_equal(
        self, committed: Sequence[pa.Table], snapshots: Iterable[PlannedSnapshot]
    ) -> frozenset[_Ids]:
        """The snapshots that were equal to the log and still are. committed: rows of
        silver.committed_log, ascending by offset. A snapshot is left out where there is another
        content of its id."""
        of_id = Counter(one[:2] for one in snapshots)
        end = self.same_until(committed) if self.equal else 0
        return frozenset(one for one in self.equal if one[0] <= end and of_id[one[:2]] == 1)

    def same_until(self, committed: Sequence[pa.Table]) -> int:
        """The offset (exclusive) up to which the branch and its records are unchanged. committed:
        as in still_equal."""
        return min(self.stayed, self._branches_part(committed))

    def _branches_part(self, committed: Sequence[pa.Table]) -> int:
        """The offset (exclusive) up to which `committed` has the batches of `branch`."""
        before = self.branch.sort_by("offset")
        now = pa.concat_tables([one.select(ENTRY) for one in committed] or [before.slice(0, 0)])
        count = min(before.num_rows, now.num_rows)
        differs = np.zeros(count, bool)
        for name in ENTRY:
            differs |= longs(before[name])[:count] != longs(now[name])[:count]
        same = int(differs.argmax()) if differs.any() else count
        return int(longs(now["offset"])[same - 1]) + 1 if same else 0


def equal_snapshots(valid: Iterable[Row], snapshots: Iterable[Row]) -> frozenset[_Ids]:
    """The snapshots that were compared with the log, and equal to it. valid: the rows of
    gold.snapshot_validity that are VALID. snapshots: rows of bronze.snapshots."""
    keys = ("node_id", "directory_id", "end_offset", "epoch")
    found = {(*(row[key] for key in keys), row["capture_id"]) for row in valid}
    return frozenset(
        (row["end_offset"], row["epoch"], row["content_sha256"])
        for row in snapshots
        if row["is_whole"]
        and OffsetAndEpoch(row["end_offset"], row["epoch"]) != BOOTSTRAP_SNAPSHOT
        and any((*(row[key] for key in keys), one) in found for one in row["captures"])
    )


def without_equal(
    plan: ReplayPlan, equal: Collection[_Ids], cluster_id: str
) -> tuple[ReplayPlan, list[Row]]:
    """The plan without the snapshots that are known to be equal to the log from offset 0 on; and
    the rows of REPLAYED about these snapshots."""
    first = plan.runs[0] if plan.runs and plan.runs[0].start == 0 else None
    end = 0 if first is None else first.end
    skipped = [one for one in plan.snapshots if one[:3] in equal and one.end_offset <= end]
    others = tuple(one for one in plan.snapshots if one not in skipped)
    same: Row = {"base_offset": 0, "sample": [], **dict.fromkeys(COUNTS, 0)}
    rows = [same | dict(zip(CONTENT_IDS, (cluster_id, *one[:3]), strict=True)) for one in skipped]
    kept = ReplayPlan(plan.runs, others, plan.log_end, plan.unknown)
    return kept, pa.Table.from_pylist(rows, REPLAYED).to_pylist()
