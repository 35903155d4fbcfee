"""gold.divergence_points: where the logs of each two replicas of a capture group part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from pipelines.cluster.rows import Row
from pipelines.gold.round_names import round_names
from pipelines.silver.capture_groups import newest_group


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
