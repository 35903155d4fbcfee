"""A node that is about to start, and the obstacles to its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from replica.doctor.check.rule import Finding, Rule
from replica.doctor.startup.known_settings import Release
from replica.doctor.startup.node_config import Address, NodeConfig
from replica.format.key_stores import StoreFile
from replica.format.log_dirs import LogDir, LogDirState
from replica.metadata.changes.unread import UnreadPlace
from replica.model.voters import VoterSet


class Start(StrEnum):
    """How a node's start ends. The values are part of the output of `check --json`."""

    REFUSES = "refuses"
    """Kafka's process ends."""
    NEVER_JOINS = "never-joins"
    """The process runs, but takes no part in the quorum."""
    STARTS = "starts"
    """Nothing in the files keeps the node from its quorum."""


class Obstacle(NamedTuple):
    """A finding, and its effect on the node's start."""

    start: Start
    finding: Finding
    words: str = ""
    """Kafka's own message for this obstacle; "" where Kafka logs none."""


@dataclass(frozen=True, slots=True)
class NodeLog:
    """What a node's metadata log says about the quorum."""

    static_voters: frozenset[int] = frozenset()
    """The voters of the newest LeaderChange record, else of quorum-state; empty if neither names a
    voter."""
    dynamic_voters: VoterSet | None = None
    """The newest voters record; None in a static quorum, and if no voters were ever written."""
    last: tuple[int, int] = (-1, 0)
    """(the epoch of the last batch, the log end offset (exclusive)); the epoch is -1 without a
    batch."""
    unread: tuple[UnreadPlace, ...] = ()
    """The places in the node's directory that its release can't read, each with the file's name in
    messages. Such a place ends the node's process."""
    broken: tuple[Finding, ...] = ()
    """The findings about the log's files with which Kafka doesn't start."""

    @property
    def has_records(self) -> bool:
        """Whether the node ever followed or led."""
        return self.last[1] > 0


@dataclass(frozen=True, slots=True)
class StartingNode:
    """A node about to start."""

    config: NodeConfig
    dirs: tuple[LogDir, ...]
    """The node's log directories; the directory of the metadata log is the first."""
    release: Release
    log: NodeLog | None = None
    """What the metadata log says; None if the log is unknown."""
    stores: Mapping[str, StoreFile] = field(default_factory=dict)
    """The files of keys and certificates that were examined, by their paths."""
    login_entries: frozenset[str] = frozenset()
    """The entries of the file that java.security.auth.login.config names."""

    @property
    def metadata_dir(self) -> LogDir | None:
        return self.dirs[0] if self.dirs else None

    @property
    def own_log(self) -> NodeLog:
        return self.log or NodeLog()

    @property
    def ready_dirs(self) -> tuple[LogDir, ...]:
        """The directories with a readable meta.properties, in the order of Kafka's own checks."""
        ready = (one for one in self.dirs if one.state is LogDirState.READY)
        return tuple(sorted(ready, key=lambda one: one.path))

    @property
    def cluster_id(self) -> str | None:
        """The cluster id in the metadata log's directory, else in any directory; None if none names
        it."""
        ids = (one.meta.cluster_id for one in self.dirs if one.meta is not None)
        return next((one for one in ids if one is not None), None)

    @property
    def directory_id(self) -> str | None:
        """The directory id of the metadata log's directory; None without a readable
        meta.properties."""
        found = self.metadata_dir
        return None if found is None or found.meta is None else found.meta.directory_id

    @property
    def address(self) -> Address | None:
        return self.config.controller_address


def of_setting(rule: Rule, config: NodeConfig, name: str, message: str) -> Finding:
    """A finding about a setting. Its message begins with the line, if the file has this setting."""
    line = config.settings.get(name)
    if line is None:
        return rule.at(config.path, message)
    return rule.at(config.path, f"line {line.number}: {message}", position=line.position)


def refused(rule: Rule, node: StartingNode, name: str, message: str, words: str = "") -> Obstacle:
    """The obstacle of a setting with which Kafka refuses to start."""
    return Obstacle(Start.REFUSES, of_setting(rule, node.config, name, message), words)
