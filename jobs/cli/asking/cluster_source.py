"""One cluster's state, and the content of its log, from directories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import NamedTuple

from jobs.cli.asking.about import AskedCluster
from jobs.cli.directories.check_inputs import (
    examine_all,
    find_newest_inputs,
    read_earlier,
    refuse_unread,
)
from jobs.cli.directories.judged_clusters import (
    disks_of_several,
    judged_clusters,
    refusing_nodes,
)
from jobs.cli.directories.notices import printed_at_the_end
from jobs.cli.output import ProgressLine
from replica.doctor.check.damaged import bundle_damage
from replica.doctor.check.examined import Examined
from replica.doctor.check.newest import ClusterState, cluster_members, newest_states
from replica.doctor.check.readable import unread_by
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.log_content import LogContent
from replica.doctor.health.of_directories import cluster_of, content_of, steps_of
from replica.doctor.health.past import Past, past_of
from replica.doctor.health.sizes import entity_counts
from replica.doctor.preflight.downgrading import NodeReading
from replica.doctor.verdict.outage import with_verdict
from replica.doctor.verdict.verdict import Verdict
from replica.errors import UsageError
from replica.metadata.changes.readers import reader_of


@dataclass(frozen=True)
class ClusterSource:
    """A cluster's state, and the other facts that a command asked for."""

    cluster: Cluster
    entities: Mapping[str, int]
    """The number of entities of each kind."""
    content: LogContent | None = None
    """The number of the log's records of each type; None where Wanted.content is False."""
    past: Past | None = None
    """For each possible failure, the time since when it would do the harm that it would do now;
    None where Wanted.past is False."""
    verdict: Verdict | None = None
    """The verdict on the cluster; None where Wanted.verdict is False."""
    notices: tuple[str, ...] = ()
    """A line for each file or directory that could not be read, or was left out."""
    readings: tuple[NodeReading, ...] = ()
    """For each directory of the cluster, what the release of Wanted.read_by can't read."""
    not_judged: str = ""
    """Text about other files that Kafka has to read, and that were not judged here; "" if there
    are none."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The facts that a command wants about a cluster besides its state."""

    content: bool = False
    """Whether the command wants the number of the log's records of each type."""
    past: bool = False
    """Whether the command wants, for each failure, the record since which the failure would do the
    same harm as now."""
    verdict: bool = False
    """Whether the command wants the verdict of `check`."""
    read_by: str | None = None
    """The release of Kafka of which the user asks what it can't read in the directories; None where
    the user names no release."""


def from_directories(
    asked: AskedCluster, broker_defaults: Mapping[str, str], wanted: Wanted
) -> ClusterSource:
    """The newest state of the cluster in the directories.

    Raises UsageError where the directories belong to several clusters and the user names none of
    them, or where they give no state; UnreadableFileError where no directory can be read.
    """
    progress = ProgressLine()
    with ExitStack() as stack:
        notices = stack.enter_context(printed_at_the_end())
        inputs = find_newest_inputs(asked.paths, stack, asked.order)
        earlier = read_earlier(inputs, progress.show) if asked.order else None
        notices += (*map(str, inputs.damages), *inputs.left_out())
        known: list[_Known] = []
        unreadable = [*inputs.damages]
        several: list[str] = []
        for group in inputs.groups:
            examined, damages = examine_all(group, progress.show, asked.passed_over)
            unreadable += damages
            several += filter(None, [disks_of_several(examined)])
            notices += (f"{damage.file}: {damage.detail}" for damage in damages)
            if wanted.verdict:
                unread = (*inputs.unread(), *bundle_damage(damages))
                known += (
                    _Known(one.state, one.cluster, examined, verdict)
                    for one, verdict in judged_clusters(
                        examined, unread, progress.show, broker_defaults, earlier, inputs.formatted
                    )
                    if one.state is not None
                )
            else:
                told = newest_states(examined, progress.show, earlier, inputs.formatted)
                known += (_known(one, examined, broker_defaults) for one in told)
        if not known:
            refuse_unread(unreadable)
        chosen, cluster, directories, verdict = _chosen(known, asked, several)
        if not wanted.verdict:  # the verdict says it
            notices += several
        progress.clear()
        if cluster is None:
            raise UsageError(f"{chosen.examined.shown}: no state could be replayed from its log")
        cluster = with_verdict(cluster, verdict)
        held = content_of(chosen.examined) if wanted.content else None
        past = None
        if wanted.past:
            members = cluster_members(chosen.examined, directories)
            past = past_of(cluster, steps_of(chosen.examined, cluster.end_offset, members))
        readings: tuple[NodeReading, ...] = ()
        if wanted.read_by is not None:
            members = cluster_members(chosen.examined, directories)
            readings = tuple(_reading_of(one, wanted.read_by) for one in members)
        left = tuple(notices)
        notices.clear()  # the caller prints them, below the verdict
    return ClusterSource(cluster, entity_counts(cluster.image), held, past, verdict, left, readings)


def _reading_of(examined: Examined, release: str) -> NodeReading:
    replica = examined.replica
    return NodeReading(
        None if replica is None else replica.node_id,
        examined.shown,
        unread_by(reader_of(release), examined),
        not examined.hides_entries,
    )


class _Known(NamedTuple):
    """The state of a cluster at one capture. directories: all directories that the user named, of
    other clusters too. verdict: None where the command doesn't want it."""

    told: ClusterState
    cluster: Cluster | None
    directories: Sequence[Examined]
    verdict: Verdict | None = None


def _known(
    told: ClusterState, examined: Sequence[Examined], broker_defaults: Mapping[str, str]
) -> _Known:
    cluster = cluster_of(told, broker_defaults)
    if cluster is not None:
        refusing = refusing_nodes(examined, told.cluster_id)
        cluster = replace(cluster, unstartable=refusing)
    return _Known(told, cluster, examined)


def _chosen(known: Sequence[_Known], asked: AskedCluster, several: Sequence[str]) -> _Known:
    """The cluster that the user asks about. several: the results of disks_of_several, for the
    messages of errors. Raises UsageError."""
    cluster_id = asked.cluster
    why = "".join(f". {one}" for one in several)
    wanted = [one for one in known if cluster_id in (None, one.told.cluster_id)]
    names = sorted({str(one.told.cluster_id) for one in known})
    if not known:
        raise UsageError(
            f"{' '.join(asked.paths)}: no metadata log that gives a state: no leader was ever "
            f"elected, or the log can't be read; `kraftlake check` says which{why}"
        )
    if not wanted:
        raise UsageError(f"--cluster {cluster_id}: the directories are of {', '.join(names)}")
    if len(wanted) > 1:
        raise UsageError(
            f"the directories are of {len(wanted)} clusters or captures: name one, or "
            f"--cluster {' or '.join(names)}{why}"
        )
    return wanted[0]
