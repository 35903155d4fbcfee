"""Builds a node from its parts: its directory, its storage, the consensus core and the network."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import SystemRandom

from replica.errors import UsageError
from replica.host.host import Host
from replica.machines.metadata import MetadataMachine
from replica.machines.opaque import OpaqueMachine, RecordingMachine
from replica.model.control import KRAFT_VERSION
from replica.model.keys import ReplicaId
from replica.node.authorizer import EVERYBODY, INSECURE, VOTERS, PrincipalRole
from replica.node.descriptors import fitting, open_files_limit
from replica.node.driver import Clock, Driver
from replica.node.exposure import knows_clients
from replica.node.listeners import addresses_on
from replica.node.local_processes import is_loopback, is_supported
from replica.node.node import Node
from replica.node.notice import Fields, Notice, Report, Seldom
from replica.node.peers import Peers
from replica.node.serve.dispatch import Dispatch
from replica.node.serve.forwarding import Forwarder
from replica.node.serve.partition import ServedPartition
from replica.node.serve.voters import Voters
from replica.node.settings import NodeSettings
from replica.node.translate.partition import ReplicatedPartition
from replica.raft.effects import Send
from replica.raft.ports import StateMachine
from replica.shell_text import line, path
from replica.storage.archive import Archive
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import LocalDisk
from replica.storage.identity import read_identity
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.spare_files import SpareFiles
from replica.wire.client import ClientConfig
from replica.wire.limits import NodeLimits
from replica.wire.pool import Address
from replica.wire.server import ANONYMOUS, Client, Server, Service, Shared
from replica.wire.versions import Features, Identity

AT_ONCE = 1000
"""The most records that a state machine gets in one step of the event loop, if it doesn't decode
them."""
DECODED_AT_ONCE = 100
"""The most records of metadata that the state machine gets in one step, which takes about 4 ms."""


def opened(
    settings: NodeSettings, report: Report, client: ClientConfig | None = None
) -> tuple[Node, DirectoryLock]:
    """Lock and recover the directory, and build the node. Call this in the node's event loop.
    Returns (the node, the lock of its directory).

    client: the config of connections to other replicas; None for the config of the settings.

    Raises UsageError if the settings are unsafe or don't fit the directory, if the directory isn't
    formatted or is in use, if a file of certificates or credentials is invalid, or if this process
    may open too few files; DataError, which names file and byte, if the directory holds bytes that
    no replica writes; FileSystemError.
    """
    if settings.recording is None:
        check_open_listeners(settings)
    files = LocalDisk(SpareFiles())
    replica = _identity(settings, files)
    lock = DirectoryLock(settings.log_dir)
    try:
        return _assembled(settings, replica, files, report, client), lock
    except BaseException:
        lock.close()
        raise


def _assembled(
    settings: NodeSettings,
    replica: ReplicaId,
    files: LocalDisk,
    report: Report,
    client: ClientConfig | None,
) -> Node:
    security = settings.security
    # check all settings before the log is read
    client = client or security.to_voters(settings.core.request_timeout_ms / 1000)
    client = replace(client, client_id=f"raft-client-{settings.node_id}")
    guards = {name: each.guard() for name, each in security.listeners.items()}
    shared = Shared(_limits(settings, report))
    clock = Clock()
    archive = _archive(settings, files, replica, clock, report)
    config, machine = settings.config(replica), _machine(settings)
    folder = settings.partition_folder
    log = open_log(files, folder, settings.log, settings.topic.id, archive)
    store = QuorumStateFile(files, folder)
    draw = SystemRandom().randrange
    at_once = DECODED_AT_ONCE if isinstance(machine, MetadataMachine) else AT_ONCE
    host = Host(config, log, store, machine, draw, clock(), at_once)
    for repair in host.log.repairs:
        report(Notice("repair", repair))
    topic, listener = settings.topic, settings.controller_listener
    about = ReplicatedPartition(topic.name, topic.id, listener, rack=settings.rack)
    are_ours = bool(settings.advertised) and not settings.authorizer.names_voters
    peers = Peers(about, client, _addresses(settings), report, are_ours=are_ours)
    has_snapshots = settings.topic.is_metadata and settings.recording is None
    policy = settings.snapshots if has_snapshots else None
    driver = Driver(host, peers.call, clock, policy)
    partition = ServedPartition(
        settings.topic,
        driver,
        settings.advertised,
        settings.rack,
        node_id=replica.node_id,
        always_leads=settings.recording is not None,
        uncommitted_is_empty=settings.uncommitted_is_empty,
        turn=shared.turns.next,
    )
    forwarder = Forwarder(partition, client)
    voters = Voters(partition, settings.authorizer, settings.bootstrap_servers)
    seldom = Seldom(report)
    dispatch = Dispatch(
        partition, voters, forwarder, seldom, settings.draft_key, shared.room_for_answer
    )
    service = Service(
        dispatch,
        dispatch.served,
        partial(_features, driver),
        apis=dispatch.apis,
        identity=Identity(replica.cluster_id, partition.node_id),
        on_refused_login=partial(_tell_refused_login, seldom),
        is_voters=dispatch.is_voters,
    )
    servers = {}
    for name, (authenticator, tls) in guards.items():
        guarded = replace(service, authenticator=authenticator, tls=tls, listener=name)
        servers[name] = Server(guarded, security.listeners[name].limits, shared)
    return Node(settings, replica, driver, partition, dispatch, peers, report, servers)


def _limits(settings: NodeSettings, report: Report) -> NodeLimits:
    """The limits of the settings, lowered to the number of files that this process may open."""
    wanted, files = settings.security.limits, open_files_limit()
    limits = fitting(wanted, files)
    if limits.max_connections < wanted.max_connections:
        text = (
            f"this process may open {files} files (ulimit -n): it takes {limits.max_connections} "
            f"connections at once, fewer than max.connections={wanted.max_connections}"
        )
        facts: Fields = {"files": files, "connections": limits.max_connections}
        report(Notice("few-files", text, facts))
    return limits


def _features(driver: Driver) -> Features:
    driver.check()
    raft = driver.raft
    finalized = {KRAFT_VERSION: raft.log.kraft_version} if raft.log.kraft_version else {}
    return Features({KRAFT_VERSION: (0, 1)}, finalized, raft.high_watermark or -1)


def _tell_refused_login(seldom: Seldom, client: Client, user: str) -> None:
    """Report a login that was refused. A stranger may have chosen the name, so the report quotes it
    on one line, and shortens a long name."""
    shown = ascii(user[:64])
    facts: Fields = {"address": client.address, "listener": client.listener, "user": user[:64]}
    text = f"{client.listener}: login as {shown} from {client.address} refused"
    seldom(client.peer[0], Notice("login-refused", text, facts))


def _machine(settings: NodeSettings) -> StateMachine:
    if settings.recording is not None:
        return RecordingMachine()
    return MetadataMachine() if settings.topic.is_metadata else OpaqueMachine()


def _archive(
    settings: NodeSettings, files: LocalDisk, replica: ReplicaId, now: Clock, report: Report
) -> Archive | None:
    if settings.recording is None:
        return None
    partition = os.path.basename(settings.partition_folder)

    def tell(text: str) -> None:
        report(Notice("archived", text))

    return Archive(files, settings.recording.archive, replica, partition, now, tell)


def _identity(settings: NodeSettings, files: LocalDisk) -> ReplicaId:
    is_there = os.path.isdir(settings.log_dir)
    replica = read_identity(files, settings.log_dir) if is_there else None
    if replica is None:
        named = ("-c", path(settings.path))
        raise UsageError(
            f"{settings.log_dir} is not formatted: "
            f"`{line('kraftlake', 'replica', 'format', *named, '-t', 'CLUSTER_ID')}` does that"
        )
    if replica.node_id != settings.node_id:
        raise UsageError(
            f"{settings.log_dir}/meta.properties names node {replica.node_id}, "
            f"{settings.path} node {settings.node_id}: correct log.dirs or node.id"
        )
    return replica


def _addresses(settings: NodeSettings) -> Callable[[Send], Address | None]:
    def address_of(send: Send) -> Address | None:
        if send.node_id < 0:
            return settings.bootstrap_address(send.node_id)
        return next(iter(addresses_on(settings.controller_listener, send.endpoints)), None)

    return address_of


def check_open_listeners(settings: NodeSettings) -> None:
    """Check that a node which other machines can reach doesn't let everybody in. Raises UsageError,
    which names the key to set. Does nothing if INSECURE is set."""
    if settings.authorizer.is_insecure:
        return
    _check_voters(settings)
    names = settings.authorizer.principals[PrincipalRole.ADMINISTRATOR] & {EVERYBODY, ANONYMOUS}
    for listener in settings.listeners:
        if names and not is_loopback(listener.host) and not knows_clients(settings, listener):
            where = f"{listener.name}://{listener.host}:{listener.port}"
            raise _error(
                settings,
                "kraftlake.principals.administrator",
                f"{', '.join(names)} is everybody who can connect to {where}, where clients don't "
                f"authenticate: name the administrators and ask for SASL or certificates there",
            )


def _check_voters(settings: NodeSettings) -> None:
    """Raise UsageError if the settings name no principals of voters, and this replica couldn't
    recognize voters by their processes: voters are on other machines, or this system doesn't show
    to which process a connection belongs."""
    local = {settings.node_id}
    if settings.authorizer.names_voters or set(settings.static_voters.ids) == local:
        return
    far = [each.host for each in settings.advertised if not is_loopback(each.host)]
    if far:
        why = f"missing: {far[0]} is on the network, where an address proves nothing"
    elif not is_supported() and settings.advertised:
        why = "missing: this system doesn't tell whose process a connection is"
    else:
        return
    raise _error(settings, VOTERS, f"{why}. Name the voters' certificates or users")


def _error(settings: NodeSettings, key: str, why: str) -> UsageError:
    return UsageError(
        f"{settings.path}: {key}: {why}, or set {INSECURE}=true to trust everybody who can connect"
    )
