"""Brokers' log directories below the given paths, for `check --partitions`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from jobs.cli.output import table_lines
from replica.doctor.check.rule import by_severity
from replica.doctor.health.partition_folders import judge_log_directories
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.verdict import Gap
from replica.errors import UsageError
from replica.format.discovery import DirectoryPath, DiscoveredPath
from replica.format.partition_folders import (
    BrokerLogDirectory,
    FolderState,
    folders_beside,
    log_directories_below,
)
from replica.words import counted, named, size_text

LOG_DIRECTORY_COLUMNS = (
    "broker",
    "partitions",
    "size of logs",
    "future",
    "to delete",
    "put aside",
    "log directory",
)


def log_directories_in(paths: Iterable[str]) -> tuple[BrokerLogDirectory, ...]:
    """The log directories at or below the paths, each once. Raises UsageError where there are
    none."""
    found = {
        os.path.realpath(one.shown): one for path in paths for one in log_directories_below(path)
    }
    if not found:
        raise UsageError(
            f"--partitions: no folder at or below {', '.join(paths)} has a meta.properties: name "
            "brokers' log directories, and a metadata log"
        )
    return tuple(found.values())


def not_asked_for(found: Iterable[DiscoveredPath]) -> Iterator[str]:
    """A sentence with the number of partitions' folders beside the metadata logs; none where there
    are none. The folders themselves are not read."""
    count = sum(
        len([*folders_beside(one.path)])
        for one in found
        if isinstance(one, DirectoryPath) and not one.is_formatted
    )
    if count:
        folders = counted(count, "folder")
        judges = "`kraftlake check --partitions` judges them"
        yield f"{folders} of partitions beside the metadata: {judges}"


def judged_with(cluster: JudgedCluster, directories: Sequence[BrokerLogDirectory]) -> JudgedCluster:
    """The cluster with the findings about its log directories."""
    if cluster.cluster is None or not directories:
        return cluster
    more = judge_log_directories(cluster.cluster, directories, all_given=True)
    return replace(cluster, health=tuple(sorted((*(cluster.health or ()), *more), key=by_severity)))


def gaps_of(cluster: JudgedCluster, directories: Iterable[BrokerLogDirectory]) -> Iterator[Gap]:
    """A gap where the given directories of brokers hold only metadata, and none of their
    partitions."""
    if cluster.cluster is None:
        return
    own = [*of_cluster(cluster, directories)]
    with_data = {one.replica.node_id for one in own if not one.is_metadata_alone}
    brokers = cluster.cluster.values("brokers").keys() & {one.replica.node_id for one in own}
    if without := sorted(brokers - with_data):
        yield Gap(
            f"the partitions' folders of {named('broker', [str(one) for one in without])}",
            "the directories that were given hold the metadata alone",
            "Name the brokers' log directories.",
        )


def of_cluster(
    cluster: JudgedCluster, found: Iterable[BrokerLogDirectory]
) -> Iterator[BrokerLogDirectory]:
    """The log directories of a cluster, sorted by node."""
    mine = [one for one in found if one.replica.cluster_id == cluster.cluster_id]
    return iter(sorted(mine, key=lambda one: (one.replica.node_id, one.shown)))


def log_directory_lines(
    cluster: JudgedCluster | None, directories: Iterable[BrokerLogDirectory]
) -> Iterator[str]:
    """The table of log directories, without those that hold only the metadata log of a node that is
    no broker; no line where none is left. cluster: None where the cluster is unknown."""
    state = None if cluster is None else cluster.cluster
    brokers = set[int]() if state is None else state.values("brokers").keys()
    shown = [
        one
        for one in directories
        if not one.is_metadata_alone or state is None or one.replica.node_id in brokers
    ]
    if shown:
        yield ""
        yield from table_lines(LOG_DIRECTORY_COLUMNS, map(log_directory_cells, shown))


def log_directory_cells(one: BrokerLogDirectory) -> tuple[object, ...]:
    """The cells of a log directory's row, in the order of LOG_DIRECTORY_COLUMNS."""
    row = log_directory_row(one)
    others = (
        _count_text(row[name], row[f"{name}_bytes"]) for name in ("future", "deleted", "stray")
    )
    size = size_text(row["size_bytes"])
    return one.replica.node_id, row["partitions"], size, *others, one.shown


def _count_text(count: int, size_bytes: int) -> str:
    return f"{count} ({size_text(size_bytes)})" if count else "0"


def log_directory_row(one: BrokerLogDirectory) -> dict[str, Any]:
    """A log directory in the form of --json. The fields `deleted` and `stray` count the folders
    that Kafka itself has marked as deleted or stray; size_bytes is the size of the partitions'
    folders that Kafka serves."""
    count = Counter(folder.state for folder in one.folders)
    size = Counter[FolderState]()
    for folder in one.folders:
        size[folder.state] += folder.size_bytes
    return {
        "kind": "log-directory",
        "cluster_id": one.replica.cluster_id,
        "node_id": one.replica.node_id,
        "directory_id": one.replica.directory_id,
        "path": one.shown,
        "partitions": count[FolderState.CURRENT],
        "size_bytes": size[FolderState.CURRENT],
        "future": count[FolderState.FUTURE],
        "future_bytes": size[FolderState.FUTURE],
        "deleted": count[FolderState.DELETED],
        "deleted_bytes": size[FolderState.DELETED],
        "stray": count[FolderState.STRAY],
        "stray_bytes": size[FolderState.STRAY],
    }
