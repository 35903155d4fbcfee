"""The nodes that `check --config` judges: their settings, the log directories that belong to them,
and the facts in their metadata logs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from jobs.cli.option_values import bytes_in
from replica.doctor.check.group import JudgedDirectory
from replica.doctor.startup.node_config import NodeConfig, node_config
from replica.doctor.startup.node_log import node_log
from replica.doctor.startup.obstacle import NodeLog, StartingNode
from replica.doctor.startup.security_rules import store_paths
from replica.format.formatted import log_folders_below
from replica.format.key_stores import StoreFile, read_store
from replica.format.log_dirs import LogDir, LogDirState, read_log_dir
from replica.metadata.changes.readers import reader_of
from replica.metadata.changes.releases import NEWEST_LEVELS

_MAX_FILE_BYTES = 4 * 1024 * 1024
_NEWEST = tuple(NEWEST_LEVELS)[-1]


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """A node's settings, and its log directories: the directory of the metadata log is the
    first."""

    config: NodeConfig
    dirs: tuple[LogDir, ...]
    stores: Mapping[str, StoreFile] = field(default_factory=dict)
    """The files of keys and certificates, by their paths; only where the settings are on the node
    itself."""

    @property
    def metadata_paths(self) -> Iterator[str]:
        """The folder of the metadata log's directory, if something can be read there."""
        for one in self.dirs[:1]:
            if (one.has_metadata_log or one.is_named) and not one.has_broken_place:
                yield one.shown


def nodes_of(configs: Sequence[str], paths: Sequence[str]) -> tuple[NodeFiles, ...]:
    """The nodes of these server.properties. paths: folders in which copies of their log directories
    lie; without paths, the directories lie where the settings say. Raises UsageError for a file
    that can't be read."""
    read = [
        node_config(one, bytes_in("--config", one, _MAX_FILE_BYTES))
        for one in dict.fromkeys(configs)
    ]
    if not paths:
        return tuple(
            NodeFiles(
                one,
                tuple(read_log_dir(path, path) for path in one.all_dirs),
                {path: read_store(path) for path in store_paths(one)},
            )
            for one in read
        )
    folders = [folder for path in paths for folder, _ in log_folders_below(path)]
    found = [read_log_dir(folder, folder) for folder in dict.fromkeys(folders)]
    return tuple(NodeFiles(one, tuple(_dirs_of(one, found))) for one in read)


def _dirs_of(config: NodeConfig, found: Sequence[LogDir]) -> Iterator[LogDir]:
    """The log directories of a node among copies: the copies beside its settings, else the copies
    that name the node. For each path, the copy with the most equal names at the end is taken; where
    no copy fits, the LogDir has the state NOT_GIVEN."""
    beside = os.path.dirname(os.path.abspath(config.path))
    near = [one for one in found if _is_below(one.shown, beside)]
    own = near if near else [one for one in found if _node_id(one) == config.node_id]
    wanted = config.all_dirs
    for path in wanted:
        best = max(own, key=lambda one: _in_common(one.shown, path), default=None)
        is_only = len(own) == len(wanted) == 1
        if best is None or not (is_only or _in_common(best.shown, path)):
            yield LogDir(path, path, LogDirState.NOT_GIVEN)
            continue
        own = [one for one in own if one is not best]
        yield read_log_dir(path, best.shown)


def _is_below(path: str, folder: str) -> bool:
    return PurePath(os.path.abspath(path)).is_relative_to(folder)


def _node_id(one: LogDir) -> int | None:
    return None if one.meta is None else one.meta.node_id


def _in_common(path: str, other: str) -> int:
    """The number of equal names at the ends of two paths."""
    pairs = zip(reversed(PurePath(path).parts), reversed(PurePath(other).parts), strict=False)
    count = 0
    for one, two in pairs:
        if one != two:
            break
        count += 1
    return count


def login_entries_in(path: str | None) -> frozenset[str]:
    """The names of the entries in the file that --login-config names, in the format of JAAS: `NAME
    { ... };`. Empty where `path` is None. Raises UsageError for a file that can't be read."""
    if path is None:
        return frozenset()
    text = bytes_in("--login-config", path, _MAX_FILE_BYTES).decode("latin-1")
    without_comments = re.sub(r"/\*.*?\*/|(//|#)[^\n]*", "", text, flags=re.DOTALL)
    return frozenset(re.findall(r"([\w.$-]+)\s*\{", without_comments))


def log_paths(nodes: Iterable[NodeFiles], paths: Sequence[str]) -> list[str]:
    """The paths that `check` reads besides the settings: the paths that the user named, or, if
    there are none, the directories of the nodes' metadata logs."""
    if paths:
        return list(paths)
    return [path for node in nodes for path in node.metadata_paths]


def starting_nodes(
    nodes: Iterable[NodeFiles],
    named: str | None,
    members: Iterable[JudgedDirectory],
    login_entries: frozenset[str] = frozenset(),
) -> tuple[StartingNode, ...]:
    """The nodes as the rules judge them: with their settings, directories and logs.

    named: the release that the nodes are to run, such as 4.1; None for the newest known release.
    members: the metadata logs that were read.
    login_entries: the result of login_entries_in.
    """
    reader = reader_of(named or _NEWEST)
    first, _, second = reader.release.partition(".")
    release = int(first), int(second)
    logs = {_node_folder(one): node_log(one, reader) for one in members}
    return tuple(
        StartingNode(one.config, one.dirs, release, _log_of(one, logs), one.stores, login_entries)
        for one in nodes
    )


def _log_of(node: NodeFiles, logs: Mapping[str, NodeLog]) -> NodeLog | None:
    """What is known about the node's log. An empty NodeLog where its directory was only formatted
    and has no log; None where nothing is known."""
    for own in node.dirs[:1]:
        found = logs.get(os.path.realpath(own.shown))
        if found is not None:
            return found
        if own.state is LogDirState.READY and not own.has_metadata_log:
            return NodeLog()
    return None


def _node_folder(member: JudgedDirectory) -> str:
    return os.path.realpath(os.path.dirname(os.path.abspath(member.examined.location.path)))
