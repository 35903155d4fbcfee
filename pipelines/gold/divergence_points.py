"""gold.divergence_points: where the logs of each two replicas of a capture group part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter

from pipelines.cluster.rows import Row
from pipelines.gold.round_names import round_names
from pipelines.silver.capture_groups import newest_group
from replica.history.commitment import Commitment
from replica.history.divergence import Relation
from replica.history.log import OffsetRange
from replica.history.ranges import END_OF_OFFSETS
from replica.model.keys import ReplicaKey


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


def with_settled_losses(group: Row, settled: Callable[[], Commitment]) -> Row:
    """A row of group_findings in which losses are counted by `settled`, where the logs alone leave
    some unknown. A pair that then has fewer has if_stopped: see LogParting."""
    return group | {"pairs": [_settled(pair, settled) for pair in group["pairs"]]}


def _settled(pair: Row, settled: Callable[[], Commitment]) -> Row:
    if pair["relation"] != Relation.DIVERGED.value or not pair["unproven_lost"]:
        return pair
    side = "a" if pair["truncating_node"] == pair["node_a"] else "b"
    loser = ReplicaKey(pair[f"node_{side}"], pair[f"directory_{side}"])
    rest = (OffsetRange(pair["divergence_offset"], END_OF_OFFSETS),)
    lost = settled().counted(loser, rest)
    if lost.unproven == pair["unproven_lost"]:
        return pair
    counts = {"unproven_lost": lost.unproven, "superseded_lost": lost.superseded}
    return pair | counts | {"if_stopped": True}
