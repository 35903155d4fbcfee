"""Where logs diverge: pairs of replicas, grouped into branches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from pipelines.report.source import Row

CONFLICT = "conflict"


@dataclass(frozen=True, order=True)
class Replica:
    """A replica of the cluster."""

    node_id: int
    directory_id: str


def replica_of(row: Row) -> Replica:
    """The replica of a row of any query about replicas."""
    return Replica(row["node_id"], row["directory_id"])


@dataclass(frozen=True)
class ForkBranch:
    """The records that some replicas hold from a divergence on.

    epoch, crc: of the batch at the divergence; crc is None where no batch was found.
    end_offset: the largest log end offset, exclusive; None where it is unknown.
    """

    epoch: int
    replicas: tuple[Replica, ...]
    crc: int | None = None
    end_offset: int | None = None


@dataclass(frozen=True)
class Losing:
    """A replica that would truncate, and the numbers of records that it would lose. Of its pairs
    the worst one counts: the pair with the most committed, then the most unproven records."""

    replica: Replica
    records: int
    committed: int
    unproven: int
    superseded: int


@dataclass(frozen=True)
class Parting:
    """Replicas of one capture group whose logs differ from one offset on."""

    relation: str
    """"diverged"; or "conflict" where the logs differ within one epoch."""
    offset: int
    capture_group: str
    captured_at: datetime
    """The time of the newest group that shows the divergence."""
    is_latest: bool
    branches: tuple[ForkBranch, ...]
    """The branches, the newest epoch first."""
    losing: tuple[Losing, ...]
    """The replicas that would truncate; empty in a conflict."""
    since_ms: int | None = None
    """The smallest time of the batches at the divergence, in ms since 1970; None where it is
    unknown."""

    @property
    def is_conflict(self) -> bool:
        return self.relation == CONFLICT

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """The replicas of all branches, in order."""
        return tuple(sorted(one for branch in self.branches for one in branch.replicas))

    def loses(self, branch: ForkBranch) -> bool:
        """Whether Raft truncates the branch."""
        losing = {one.replica for one in self.losing}
        return any(replica in losing for replica in branch.replicas)

    def with_heads(self, rows: Iterable[Row]) -> Parting:
        """The divergence, with a branch for each content of the batch at its offset; unchanged
        where fewer than two contents are known. rows: the rows of queries.heads.

        The rows of which a Parting is made name only epochs. So without this call, replicas that
        hold different records of one epoch are on one branch.
        """
        known = set(self.replicas)
        held: dict[tuple[int, int], list[Replica]] = defaultdict(list)
        ends: dict[tuple[int, int], int] = {}
        times: list[int] = []
        for row in rows:
            replica = replica_of(row)
            batch = (row["leader_epoch"], row["crc"])
            if replica in known and replica not in held[batch]:
                held[batch].append(replica)
                ends[batch] = max(row["log_end_offset"], ends.get(batch, 0))
                times += [] if row["since_ms"] is None else [row["since_ms"]]
        branches = tuple(
            ForkBranch(epoch, tuple(sorted(held[epoch, crc])), crc, ends[epoch, crc])
            for epoch, crc in sorted(ends, reverse=True)
        )
        if len(branches) < 2:
            return self
        return replace(self, branches=branches, since_ms=min(times, default=None))


def partings_of(rows: Iterable[Row]) -> list[Parting]:
    """The divergences of rows of queries.partings, in their order: the newest capture
    group first."""
    together: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in rows:
        together[row["capture_group"], row["divergence_offset"], row["relation"]].append(row)
    return [_parting(pairs) for pairs in together.values()]


def _parting(pairs: list[Row]) -> Parting:
    first = pairs[0]
    on: dict[int, set[Replica]] = defaultdict(set)
    for pair in pairs:
        for side in ("a", "b"):
            on[pair[f"epoch_{side}"]].add(Replica(pair[f"node_{side}"], pair[f"directory_{side}"]))
    return Parting(
        relation=first["relation"],
        offset=first["divergence_offset"],
        capture_group=first["capture_group"],
        captured_at=first["captured_at"],
        is_latest=first["is_latest"],
        branches=tuple(ForkBranch(epoch, tuple(sorted(on[epoch]))) for epoch in sorted(on)[::-1]),
        losing=_losing(pairs),
    )


def _losing(pairs: Iterable[Row]) -> tuple[Losing, ...]:
    found: dict[Replica, Losing] = {}
    for pair in pairs:
        side = {pair["node_a"]: "a", pair["node_b"]: "b"}.get(pair["truncating_node"])
        if side is None:
            continue
        replica = Replica(pair[f"node_{side}"], pair[f"directory_{side}"])
        counts = [pair[f"{name}_lost"] for name in ("committed", "unproven", "superseded")]
        losing = Losing(replica, pair["records_lost"], *counts)
        known = found.get(replica)
        if known is None or _badness(losing) > _badness(known):
            found[replica] = losing
    return tuple(found[replica] for replica in sorted(found))


def _badness(losing: Losing) -> tuple[int, int, int]:
    return losing.committed, losing.unproven, losing.records
