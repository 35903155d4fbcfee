"""Judges a node's log directories, by its settings and by comparing the directories (Kafka:
KafkaRaftServer.initializeLogDirs, MetaPropertiesEnsemble.verify)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from replica.doctor.check.catalogue import files, groups, startup
from replica.doctor.check.rule import Rule
from replica.doctor.startup.known_settings import STRICT_LISTS
from replica.doctor.startup.obstacle import Obstacle, Start, StartingNode, refused
from replica.format.file_names import METADATA_FOLDER
from replica.format.log_dirs import LogDir, LogDirState
from replica.metadata.changes.unread import BOOTSTRAP
from replica.metadata.image.settings import METADATA_VERSION
from replica.model.control import KRAFT_VERSION

_RESERVED = (f"{'A' * 21}A", f"{'A' * 21}Q", f"{'A' * 21}g")
"""The directory ids that Kafka keeps for its own use, and refuses in meta.properties (Kafka:
DirectoryId.RESERVED)."""
_NONE_READABLE = "No readable meta.properties files found."
_ASK = "(have you run `kafka-storage.sh` to format the directory?)"


def judge_named(node: StartingNode) -> Iterator[Obstacle]:
    """An obstacle if the settings name no log directory."""
    if not node.config.log_dirs:
        words = "Configuration 'log.dirs' must not be empty."
        if node.release < STRICT_LISTS:
            words = "At least one log directory must be defined via log.dirs or log.dir."
        yield refused(startup.SETTING_NOT_UNDERSTOOD, node, "log.dirs", "log.dirs is empty", words)


def _refuses(rule: Rule, file: str, message: str, words: str) -> Obstacle:
    return Obstacle(Start.REFUSES, rule.at(file, message), words)


def judge_unreadable(node: StartingNode) -> Iterator[Obstacle]:
    """An obstacle for each directory that can't be used. Without the metadata log's directory the
    node doesn't start; without one of the others it does."""
    for one in node.dirs:
        reason = one.reason
        if one.state is LogDirState.READY and not one.is_named:
            reason = "its meta.properties has no cluster.id, or no node.id"
        elif one.state is not LogDirState.UNUSABLE:
            continue
        if one is node.metadata_dir:
            words = f"Encountered I/O error in metadata log directory {one.path}. Cannot continue."
            if not _usable(node):
                words = _NONE_READABLE
            yield _refuses(startup.LOG_DIRECTORY_UNUSABLE, one.shown, reason, words)
        else:
            finding = startup.LOG_DIRECTORY_OFFLINE.at(one.shown, reason)
            yield Obstacle(Start.STARTS, finding)


def _usable(node: StartingNode) -> list[LogDir]:
    """The directories that name their node, in the order in which Kafka judges them."""
    return [one for one in node.ready_dirs if one.is_named]


def judge_identities(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: clusters, nodes and directory ids in meta.properties that contradict each other or
    the settings."""
    expected, own = None, node.config.node_id
    seen: dict[str, LogDir] = {}
    for one in _usable(node):
        assert one.meta is not None, "it is ready"
        meta, file = one.meta, one.meta_properties
        expected = expected or meta.cluster_id
        if meta.cluster_id != expected:
            words = f"Invalid cluster.id in: {_at(one)}. Expected {expected}, but read"
            message = f"cluster {meta.cluster_id}; another log directory names {expected}"
            yield _refuses(groups.LOG_DIRECTORIES_DIFFER, file, message, words)
        if own is not None and meta.node_id != own:
            words = f"Stored node id {meta.node_id} doesn't match previous node id {own} in"
            message = f"node {meta.node_id}; node.id is {own} ({node.config.place('node.id')})"
            yield _refuses(startup.NODE_ID_DIFFERS, file, message, words)
        yield from _judge_directory_id(one, seen)


def _judge_directory_id(one: LogDir, seen: dict[str, LogDir]) -> Iterator[Obstacle]:
    assert one.meta is not None, "it is ready"
    known, rule = one.meta.directory_id, startup.DIRECTORY_ID_WRONG
    named = dict(one.meta.properties).get("directory.id")
    if named is None:
        return
    if known in _RESERVED:
        words = f"directory ID {known} found in {one.path}"
        yield _refuses(rule, one.meta_properties, f"directory.id {known} is reserved", words)
    elif known in seen:
        words = f"Duplicate directory ID Optional[{known}] found."
        message = f"directory.id {known} is that of {seen[known].shown}, too"
        yield _refuses(rule, one.meta_properties, message, words)
    seen.setdefault(known, one)


def _at(one: LogDir) -> str:
    return os.path.join(one.path, "meta.properties")


def judge_metadata_logs(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: metadata logs outside of the metadata log's directory, and a metadata log that is
    no folder."""
    for one in node.ready_dirs:
        place = os.path.join(one.shown, METADATA_FOLDER)
        if one.has_metadata_log and one is not node.metadata_dir:
            words = "Found unexpected metadata location in data directory"
            message = f"the metadata log's directory is {node.config.metadata_dir}"
            yield _refuses(startup.METADATA_LOG_ELSEWHERE, place, message, words)
        elif one.has_broken_place:
            words = f"{one.path}/{METADATA_FOLDER}"
            yield _refuses(startup.LOG_DIRECTORY_UNUSABLE, place, "it is no folder", words)


def judge_formatted(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: directories that were never formatted."""
    for one in node.dirs:
        if one.state in (LogDirState.MISSING, LogDirState.UNFORMATTED):
            words = f"No `meta.properties` found in {one.path} {_ASK}"
            if not _usable(node):
                words = _NONE_READABLE
            what = "no such folder" if one.state is LogDirState.MISSING else "no meta.properties"
            yield _refuses(startup.LOG_DIRECTORY_NOT_FORMATTED, one.shown, what, words)


def judge_writable(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: directories and files that this process may not write."""
    message = "this process may not write there"
    for one in node.ready_dirs:
        if not one.not_writable:
            continue
        is_of_metadata, file = one is node.metadata_dir, one.missing_checkpoint
        if is_of_metadata or (node.config.is_broker and file and one.not_writable == one.shown):
            words = one.not_writable.replace(one.shown, one.path, 1)
            if is_of_metadata and words.endswith(METADATA_FOLDER):
                words = "Permission denied"
            elif not is_of_metadata:
                words = os.path.join(one.path, file)
            yield _refuses(startup.LOG_DIRECTORY_UNUSABLE, one.not_writable, message, words)
        else:
            finding = startup.LOG_DIRECTORY_OFFLINE.at(one.not_writable, message)
            yield Obstacle(Start.STARTS, finding)


def judge_unread(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: content of the metadata log's directory that the node's release can't read."""
    for one in node.own_log.unread:
        finding = startup.RELEASE_CANNOT_READ_LOG.at(
            one.file,
            f"{one.unread.subject}: {one.unread.why}",
            position=one.position,
            offset=one.offset,
            epoch=one.epoch,
        )
        yield Obstacle(Start.REFUSES, finding, _said_of(one.unread.subject))


def _said_of(unread: str) -> str:
    """Kafka's message about an unknown feature level or file version; "" for everything else,
    because Kafka's messages then differ between the releases."""
    if unread == METADATA_VERSION:
        return "Error loading metadata log record from offset"
    if unread == BOOTSTRAP:
        return "No MetadataVersion with metadata version"
    is_feature = unread.endswith(".version") and unread != KRAFT_VERSION
    return "Tried to apply FeatureLevelRecord" if is_feature else ""


def judge_log_files(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: files of the metadata log with which Kafka doesn't start."""
    for finding in node.own_log.broken:
        is_state = finding.rule is files.STATE_FILE_BROKEN
        words = (
            "Error while reading the Quorum status from the file"
            if is_state
            else ("Inconsistent snapshot state")
        )
        yield Obstacle(Start.REFUSES, finding, words)
