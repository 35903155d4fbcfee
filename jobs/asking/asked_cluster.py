"""Which state of a cluster the user asks `state` and `plan` about."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.moments import Moment
from pipelines.lake import Lake


@dataclass(frozen=True, slots=True)
class AskedCluster:
    """A cluster in directories, or in a lake at a moment.

    lake: None where the cluster is in `paths`. cluster: its id; None for the only cluster there.
    committed_only: whether only records count that are proven to be committed.
    """

    paths: tuple[str, ...]
    lake: Lake | None
    cluster: str | None
    moment: Moment
    committed_only: bool
