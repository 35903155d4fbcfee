"""One cluster's state, and the content of its log, from directories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from jobs.cli.directories.check_inputs import examine_all, find_newest_inputs
from jobs.cli.output import ProgressLine, complain
from replica.check.newest import ClusterState, newest_states
from replica.errors import UsageError
from replica.health.cluster import Cluster
from replica.health.counted_logs import content_of
from replica.health.log_content import LogContent
from replica.health.of_directories import cluster_of, steps_of
from replica.health.past import Past, look_back
from replica.health.sizes import entity_counts


@dataclass(frozen=True)
class ClusterSource:
    """A cluster's state. entities: how many there are of each kind. content, past: None where they
    were not asked for."""

    cluster: Cluster
    entities: Mapping[str, int]
    content: LogContent | None = None
    past: Past | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Figures that are wanted besides the state. content: the records of the log by type. past:
    the record since which each failure would do its harm."""

    content: bool = False
    past: bool = False


def from_directories(
    paths: Sequence[str],
    cluster_id: str | None,
    broker_defaults: Mapping[str, str],
    wanted: Wanted,
) -> ClusterSource:
    """The newest state in the directories.

    Raises UsageError where they belong to several clusters and none is named, or where they give no
    state.
    """
    progress = ProgressLine()
    with ExitStack() as stack:
        inputs = find_newest_inputs(paths, stack)
        for line in inputs.left_out():
            complain(line)
        told: list[ClusterState] = []
        for group in inputs.groups:
            examined, damages = examine_all(group, progress.show)
            for damage in damages:
                complain(f"{damage.file}: {damage.detail}")
            told += newest_states(examined, progress.show)
        chosen = _chosen(told, cluster_id, paths)
        cluster = cluster_of(chosen, broker_defaults)
        progress.clear()
        if cluster is None:
            raise UsageError(f"{chosen.examined.shown}: no state could be replayed from its log")
        held = content_of(chosen.examined) if wanted.content else None
        past = None
        if wanted.past:
            past = look_back(cluster, steps_of(chosen.examined, cluster.end_offset))
    return ClusterSource(cluster, entity_counts(cluster.image), held, past)


def _chosen(
    told: Sequence[ClusterState], cluster_id: str | None, paths: Sequence[str]
) -> ClusterState:
    wanted = [one for one in told if cluster_id in (None, one.cluster_id)]
    names = sorted({str(one.cluster_id) for one in told})
    if not told:
        raise UsageError(f"{' '.join(paths)}: no metadata log that gives a state")
    if not wanted:
        raise UsageError(f"--cluster {cluster_id}: the directories are of {', '.join(names)}")
    if len(wanted) > 1:
        raise UsageError(
            f"the directories are of {len(wanted)} clusters or captures: name one, or "
            f"--cluster {' or '.join(names)}"
        )
    return wanted[0]
