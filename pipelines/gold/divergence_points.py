"""gold.divergence_points: where the logs of each pair of replicas in a capture group diverge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter

from pipelines.cluster.rows import Row
from pipelines.gold.round_names import round_names
from pipelines.silver.capture_groups import newest_group
from replica.doctor.quorum.recovery import RecoveryPlan
from replica.history.commitment import Losses
from replica.history.divergence import Relation
from replica.history.log import OffsetRange
from replica.history.ranges import END_OF_OFFSETS
from replica.model.keys import ReplicaKey

LOSS = (
    "truncation_offset", "fetch_rounds", "draft_fetch_rounds", "records_lost",
    "committed_lost", "unproven_lost", "superseded_lost",
)  # fmt: skip
"""The columns about the truncation of a log: its offset, the fetches until then, and the records
that the replica loses."""


def divergence_points(groups: Sequence[Row], captures: Iterable[Row]) -> Iterator[Row]:
    """Rows of gold.divergence_points. groups: from group_findings. captures: bronze's rows."""
    newest = newest_group(groups)
    rounds = round_names(captures, itemgetter("capture_group"))
    for group in groups:
        name = group["capture_group"]
        about = {
            "cluster_id": group["cluster_id"],
            "capture_group": name,
            "is_latest": name == newest,
            "round_name": rounds.get(name),
        }
        for pair in group["pairs"]:
            yield about | pair


class SettledLosses:
    """Counts losses as the plan of `recover` for a capture group does. plan: makes this plan, when
    it is needed."""

    def __init__(self, plan: Callable[[], RecoveryPlan]) -> None:
        self._plan = plan

    def counted(self, loser: ReplicaKey, first: int) -> Losses:
        """The losses among the entries that the replica `loser` holds from the offset `first` on
        (inclusive)."""
        rest = (OffsetRange(first, END_OF_OFFSETS),)
        return self._plan().commitment.counted(loser, rest)

    @cached_property
    def outvoted(self) -> frozenset[ReplicaKey]:
        """The replicas that no election can make leader."""
        return self._plan().outvoted


def with_settled_losses(group: Row, settled: SettledLosses) -> Row:
    """A row of group_findings with losses that `settled` counts, where the logs alone leave some
    losses unknown, or show committed ones. A pair with fewer unknown losses after this has
    if_stopped: see LogParting. Where a replica would lose committed entries to one that no election
    can make leader, the pair names no replica that truncates."""
    return group | {"pairs": [_settled(pair, settled) for pair in group["pairs"]]}


def _settled(pair: Row, settled: SettledLosses) -> Row:
    if pair["relation"] != Relation.DIVERGED.value or pair["truncating_node"] is None:
        return pair
    a, b = (ReplicaKey(pair[f"node_{side}"], pair[f"directory_{side}"]) for side in "ab")
    loser, leader = (a, b) if pair["truncating_node"] == a.node_id else (b, a)
    if pair["committed_lost"] and leader in settled.outvoted:
        return pair | dict.fromkeys(("truncating_node", *LOSS))
    if not pair["unproven_lost"]:
        return pair
    lost = settled.counted(loser, pair["divergence_offset"])
    if lost.unproven == pair["unproven_lost"]:
        return pair
    counts = {"unproven_lost": lost.unproven, "superseded_lost": lost.superseded}
    return pair | counts | {"if_stopped": True}
