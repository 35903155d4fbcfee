"""Which state of a cluster the user asks `state` and `plan` about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.moments import Moment, moment_of
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


def asked_cluster(
    paths: Sequence[str] | None,
    lake: Lake | None,
    cluster: str | None,
    at: tuple[int | None, str | None],
    *,
    committed_only: bool,
) -> AskedCluster:
    """The cluster that the options name. at: the values of --at-offset and --at-time. Raises
    UsageError for an --at-time that is no time."""
    moment = Moment(at[0], moment_of("--at-time", at[1]))
    return AskedCluster(tuple(paths or ()), lake, cluster, moment, committed_only)
