"""Formats an empty directory for a replica (Kafka: Formatter). Formatting writes meta.properties,
which names the owner of the directory. For the first voters of a quorum, formatting also writes
their common voter set (KIP-853, bootstrap snapshot 0-0)."""

from __future__ import annotations

import base64
import re
import uuid
from dataclasses import dataclass

from replica.errors import DataError, UsageError
from replica.format.meta_properties import FILE_NAME
from replica.message.primitives import uuid_bytes
from replica.model.control import ControlRecord, KRaftVersion, KRaftVoters
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import ReplicaId, ReplicaKey
from replica.model.voters import Endpoint, Voter, VoterSet, voter_set
from replica.node.listeners import address_in
from replica.node.settings import NodeSettings
from replica.storage.filesystem import FileSystem
from replica.storage.identity import read_identity, write_identity
from replica.storage.recovery import open_log

_CONTROLLER = re.compile(r"(\d{1,10})@(.+):([A-Za-z0-9_-]{22})")


@dataclass(frozen=True, slots=True)
class Formatted:
    """The result of formatting a directory."""

    replica: ReplicaId
    """The owner of the directory."""
    voters: VoterSet
    """The first voter set; empty for a replica that joins a quorum."""
    was_there: bool = False
    """Whether the directory was formatted already, so that nothing was changed."""


def format_node(
    files: FileSystem,
    settings: NodeSettings,
    cluster_id: str,
    *,
    standalone: bool = False,
    initial_controllers: str = "",
    ignore_formatted: bool = False,
) -> Formatted:
    """Durable: write meta.properties, and the first voters if they are given.

    cluster_id: 22 characters of base64; an id of zeros is allowed.
    standalone: whether this node is the only voter, at its advertised address.
    initial_controllers: a comma-separated list of id@host:port:directory.id, the same text on each
        node. Without this list and without `standalone`, the node is an observer or a voter of a
        static quorum.
    ignore_formatted: whether to leave a formatted directory unchanged instead of raising an error.

    Raises UsageError for an invalid value or a directory that is formatted already, and
    FileSystemError.
    """
    check_id("-t", cluster_id)
    files.make_directory(settings.log_dir)
    found = read_identity(files, settings.log_dir)
    if found is not None:
        if found.cluster_id != cluster_id or found.node_id != settings.node_id:
            raise UsageError(
                f"{settings.log_dir}/{FILE_NAME}: belongs to node {found.node_id} of cluster "
                f"{found.cluster_id}; name another log.dirs"
            )
        if not ignore_formatted:
            raise UsageError(
                f"{settings.log_dir} is formatted already; --ignore-formatted leaves it as it is"
            )
        return Formatted(found, VoterSet(), was_there=True)
    voters = _first_voters(settings, standalone=standalone, named=initial_controllers)
    own = voters.voter(settings.node_id)
    directory_id = new_uuid() if own is None else own.key.directory_id
    replica = ReplicaId(cluster_id, settings.node_id, directory_id)
    if len(voters):
        _write_voters(files, settings, voters)
    # meta.properties is written last, so a directory that has it is complete
    write_identity(files, settings.log_dir, replica)
    return Formatted(replica, voters)


def new_uuid() -> str:
    """A random id in Kafka's form: 22 characters of base64 that don't begin with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text


def _first_voters(settings: NodeSettings, *, standalone: bool, named: str) -> VoterSet:
    if standalone and named:
        raise UsageError("--standalone and --initial-controllers exclude each other: take one")
    if not (standalone or named):
        return VoterSet()
    if settings.is_static:
        option = "--standalone" if standalone else "--initial-controllers"
        raise UsageError(
            f"{settings.path}: controller.quorum.voters makes the quorum static: leave it out "
            f"(and set controller.quorum.bootstrap.servers), or leave out {option}"
        )
    if standalone:
        if not settings.advertised:
            raise UsageError(f"{settings.path}: listeners: missing; a voter needs one")
        key = ReplicaKey(settings.node_id, new_uuid())
        return voter_set([Voter(key, settings.advertised)])
    voters = [_voter(text.strip(), settings.controller_listener) for text in named.split(",")]
    if len({voter.key.node_id for voter in voters}) < len(voters):
        raise UsageError("--initial-controllers: a node id occurs twice: name each node once")
    if not any(voter.key.node_id == settings.node_id for voter in voters):
        raise UsageError(
            f"--initial-controllers: node {settings.node_id} ({settings.path}) is none of them: "
            "add it, or leave the option out to format an observer"
        )
    return voter_set(voters)


def _voter(text: str, listener: str) -> Voter:
    match = _CONTROLLER.fullmatch(text)
    address = None if match is None else address_in(match[2])
    if match is None or address is None:
        raise UsageError(f"--initial-controllers: {text!r} is not id@host:port:directory.id")
    check_id("--initial-controllers", match[3])
    return Voter(ReplicaKey(int(match[1]), match[3]), (Endpoint(listener, *address),))


def check_id(what: str, text: str) -> None:
    """Raises UsageError if the text isn't an id of 22 base64 characters. what: the words before the
    text in the error, for example the name of an option."""
    try:
        uuid_bytes(text)
    except DataError as error:
        raise UsageError(
            f"{what} {text}: expected an id of 22 base64 characters, for example {new_uuid()}"
        ) from error


def _write_voters(files: FileSystem, settings: NodeSettings, voters: VoterSet) -> None:
    files.make_directory(settings.partition_folder)
    log = open_log(files, settings.partition_folder, settings.log, settings.topic.id)
    facts: list[ControlRecord] = [KRaftVersion(1), KRaftVoters(voters)]
    log.snapshots.write(BOOTSTRAP_SNAPSHOT, 0, facts).freeze()
    log.close()
