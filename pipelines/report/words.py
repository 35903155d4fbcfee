"""Numbers, nodes and times as the page writes them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from pipelines.report.divergences import Replica
from replica.words import named

_DIRECTORY_DIGITS = 6
_ROUND_SECONDS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200,
    86_400, 172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000,
)  # fmt: skip


class Names:
    """The names of one cluster's replicas. A name is the node id. Where several directories have
    this node id, the beginning of the directory id follows it."""

    def __init__(self, replicas: Iterable[Replica]) -> None:
        self._directories = Counter(replica.node_id for replica in set(replicas))

    def name(self, replica: Replica) -> str:
        """A replica's name such as `2`, or `2 (qufyMf)`."""
        if self._directories[replica.node_id] < 2:
            return str(replica.node_id)
        return f"{replica.node_id} ({replica.directory_id[:_DIRECTORY_DIGITS]})"

    def nodes(self, replicas: Sequence[Replica], *, limit: int | None = None) -> str:
        """The replicas' names in a text, such as `node 2` or `nodes 2 and 11`. limit: the most
        names; None for all."""
        return named("node", [self.name(one) for one in replicas], limit=limit)


def span(first: int, end: int) -> str:
    """The text for the offsets from `first` (inclusive) to `end` (exclusive). It names the last
    offset: `offsets 750 to 771`."""
    return f"offset {first}" if end - first <= 1 else f"offsets {first} to {end - 1}"


def round_seconds(least: float) -> int:
    """The smallest number of seconds, not below `least`, that is usual on clocks and axes, such as
    15 or 3600."""
    return next((one for one in _ROUND_SECONDS if one >= least), math.ceil(least))


def duration_text(seconds: float) -> str:
    """A duration in seconds as text: about three digits, in the largest unit of which it has at
    least one."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def bytes_text(size: int | None) -> str:
    """A size in bytes as text in B, KiB, MiB or GiB; "" for None."""
    if size is None:
        return ""
    amount = float(size)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} GiB"
