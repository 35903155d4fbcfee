"""Records another quorum's log: finds the quorum, checks that fetching from that quorum does no
harm, and runs a node that only fetches."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, replace
from random import SystemRandom
from typing import Any

from replica.errors import KraftlakeError, NoLeaderError, UsageError
from replica.format.file_names import ARCHIVE_FOLDER
from replica.format.meta_properties import FILE_NAME
from replica.history.truncation import TruncationBelowHighWatermarkError
from replica.model.keys import ReplicaId
from replica.node.assembly import opened
from replica.node.authorizer import EVERYBODY, Authorizer, PrincipalRole
from replica.node.formatting import check_id, new_uuid
from replica.node.node import Node
from replica.node.notice import Fields, Notice, Report
from replica.node.observer.discovery import QuorumView, discover_quorum
from replica.node.observer.guard import DENIED, Guard, conflict, may_be_alive
from replica.node.observer.progress import RecordingProgress, RecordingState, state_of
from replica.node.properties import Properties
from replica.node.settings import NodeSettings, Recording, settings_in
from replica.raft.effects import Stopped
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import FileSystem, LocalDisk
from replica.storage.identity import read_identity, write_identity
from replica.wire.client import ClientConfig, address_text
from replica.wire.pool import Address

LOWEST_ID, IDS = 1_000_000_000, 1_000_000_000
"""The lowest random node id, and the number of these ids, for an observer without a given node id.
Random ids are far above the ids that people give their nodes."""


def recorded_replica(files: FileSystem, folder: str, node_id: int | None) -> ReplicaId | None:
    """The replica whose recording `folder` holds. None if the folder is missing or empty, or holds
    only an archive (after a crash in make_recording).

    Raises UsageError for a directory that no recorder made, or that belongs to another node id.
    """
    if not os.path.isdir(folder) or not os.listdir(folder):
        return None
    found = read_identity(files, folder)
    # after a crash in make_recording, the directory holds only the archive
    if found is None and set(os.listdir(folder)) <= {ARCHIVE_FOLDER}:
        return None
    if found is None or not os.path.isdir(f"{folder}/{ARCHIVE_FOLDER}"):
        raise UsageError(f"{folder}: holds files, but no recording; name a new directory by -o")
    if node_id not in (None, found.node_id):
        raise UsageError(
            f"{folder}: recorded as node {found.node_id}: leave --node-id out, or record node "
            f"{node_id} into another directory"
        )
    return found


def new_replica(cluster_id: str, node_id: int | None) -> ReplicaId:
    """The replica of a new recording. Raises UsageError for a malformed cluster id."""
    check_id("cluster id", cluster_id)
    drawn = LOWEST_ID + SystemRandom().randrange(IDS)
    return ReplicaId(cluster_id, drawn if node_id is None else node_id, new_uuid())


def make_recording(files: FileSystem, folder: str, replica: ReplicaId) -> None:
    """Durable: make the archive, then write meta.properties."""
    files.make_directory(f"{folder}/{ARCHIVE_FOLDER}")
    write_identity(files, folder, replica)


def check_cluster(folder: str, recorded: ReplicaId, cluster_id: str | None) -> None:
    """Raises UsageError if the directory holds a recording of another cluster."""
    if cluster_id not in (None, recorded.cluster_id):
        raise UsageError(
            f"{folder}/{FILE_NAME}: recorded cluster {recorded.cluster_id}, these nodes belong to "
            f"{cluster_id}: name another directory by -o"
        )


RETRY_S = 1.0
WAIT_FOR_FORMER_SELF_S = 10.0
REQUEST_TIMEOUT_MS = 5_000
SHUTDOWN_MS = 5_000
CLIENT = ClientConfig(timeout_s=REQUEST_TIMEOUT_MS / 1000)


@dataclass(frozen=True, slots=True)
class Observation:
    """The options of a recording."""

    bootstrap: tuple[Address, ...]
    """The addresses of nodes of the quorum."""
    folder: str
    """The recording's directory. A missing directory is made."""
    node_id: int | None = None
    """The observer's node id; None for the id that the directory already has, or for a random id in
    a new directory."""
    is_anonymous: bool = False
    """Whether the observer fetches as replica -1, which no leader counts or lists."""
    cluster_id: str | None = None
    """The id that the cluster must have; None to ask the nodes for the id."""
    listen: Address | None = None
    """The address at which readers are served; None to serve no readers."""
    metrics: Address | None = None
    """The address at which Prometheus is served; None to serve no metrics."""
    client: ClientConfig = CLIENT


class CommittedRecordsLostError(KraftlakeError):
    """The quorum has lost records that it had committed."""


class ObserverRecorder:
    """A running recording. `opened_recorder` makes this object, in the event loop in which the
    recording runs. `run` ends after `stop`, when the recording has caught up (with
    `until_caught_up`), or with the error that stopped the recording."""

    def __init__(self, node: Node, lock: DirectoryLock) -> None:
        self.node = node
        driver = node.driver
        self._lock = lock
        self._raft = driver.raft
        local = driver.config.local
        self._guard = Guard(driver.call, self._raft, None if local is None else local.key)
        driver.call = self._guard.call  # the guard checks every request before it is sent

    def stop(self) -> None:
        self.node.driver.shut_down(SHUTDOWN_MS)

    @property
    def state(self) -> RecordingState:
        return state_of(self._raft)

    async def run(self, *, until_caught_up: bool = False) -> Stopped:
        """Record until the recording stops. Raises RefusedObserverError, CommittedRecordsLostError,
        and the errors of Node.run."""
        try:
            return await self._run(until_caught_up=until_caught_up)
        except TruncationBelowHighWatermarkError as error:
            raise CommittedRecordsLostError(
                f"{self.node.settings.log_dir}: the quorum has lost records that it had committed, "
                f"from offset {error.offset} on: {error}; when it is started again, this recording "
                "keeps them in its archive and goes on"
            ) from error

    async def _run(self, *, until_caught_up: bool) -> Stopped:
        with self._lock:
            running = asyncio.create_task(self.node.run())
            watching = asyncio.create_task(self._watch(until_caught_up=until_caught_up))
            ends: tuple[asyncio.Future[Any], ...] = (running, watching, self._guard.failed)
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                watching.cancel()
                self.stop()
                stopped = await running
            for end in (watching, self._guard.failed):
                if end.done() and not end.cancelled():
                    end.result()
            return stopped

    async def _watch(self, *, until_caught_up: bool) -> None:
        """Report the progress. With `until_caught_up`, return when the recording has caught up."""
        progress = RecordingProgress(self.state)
        while True:
            await self.node.driver.wait_for_news(1.0)
            now = self.state
            for notice in progress.notices(now, time.monotonic()):
                self.node.report(notice)
            if until_caught_up and progress.has_reached_target(now):
                return


async def opened_recorder(wanted: Observation, report: Report) -> ObserverRecorder:
    """Find the quorum, make sure that fetching from it harms no other node, and open the directory.

    This call waits while the quorum has no leader. Raises UsageError if the directory holds other
    files or another recording, if no node gives the cluster's id, or if the observer would fetch
    under another node's id; AuthenticationError if a node refuses the login; and any error of
    assembly.opened if the directory can't be opened.
    """
    files = LocalDisk()
    recorded = recorded_replica(files, wanted.folder, wanted.node_id)
    view = await _view(wanted, report)
    cluster_id = _cluster_id(wanted, view, recorded)
    replica = recorded or new_replica(cluster_id, wanted.node_id)
    if not wanted.is_anonymous:
        view = await _without_conflict(wanted, view, replica, report)
    if recorded is None:
        make_recording(files, wanted.folder, replica)
    _tell(wanted, view, replica, report)
    node, lock = opened(_settings(wanted, view, replica), report, wanted.client)
    return ObserverRecorder(node, lock)


async def _view(wanted: Observation, report: Report) -> QuorumView:
    said = ""
    while True:
        try:
            return await discover_quorum(wanted.bootstrap, wanted.client)
        except NoLeaderError as error:
            if str(error) != said:
                said = str(error)
                report(Notice("no-leader", f"{said}; trying again"))
        await asyncio.sleep(RETRY_S)


def _cluster_id(wanted: Observation, view: QuorumView, recorded: ReplicaId | None) -> str:
    given, told = wanted.cluster_id, view.cluster_id
    if given and told and given != told:
        raise UsageError(f"--cluster-id {given}: these nodes belong to cluster {told}")
    found = told or given
    if recorded is not None:
        check_cluster(wanted.folder, recorded, found)
        return recorded.cluster_id
    if found is None:
        raise UsageError(
            "--cluster-id: missing, and no node says it (controllers say it to clients with Alter "
            "on the cluster, brokers to all clients): give it, or name a broker in --bootstrap too"
        )
    return found


async def _without_conflict(
    wanted: Observation, view: QuorumView, replica: ReplicaId, report: Report
) -> QuorumView:
    """The view of the quorum, once no other node uses the node id of `replica`. Raises UsageError
    if another node uses this id. After a restart, the observer waits until the leader no longer
    counts its fetches from before the restart."""
    deadline = time.monotonic() + WAIT_FOR_FORMER_SELF_S
    while True:
        if view.quorum is None:
            raise UsageError(f"no node says whether node id {replica.node_id} is free: {DENIED}")
        why = conflict(view.quorum, replica.key, view.node_ids)
        if why is None and not may_be_alive(view.quorum, replica.key):
            return view
        if why is None and time.monotonic() > deadline:
            why = f"node id {replica.node_id} is an observer's that fetches from this quorum"
        if why is not None:
            advice = "leave --node-id out, or give one that nobody has"
            if wanted.node_id is None:
                advice = "record into a new directory"
            raise UsageError(f"{why}: {advice}")
        await asyncio.sleep(RETRY_S)
        view = await _view(wanted, report)


def _tell(wanted: Observation, view: QuorumView, replica: ReplicaId, report: Report) -> None:
    who = "anonymously" if wanted.is_anonymous else f"as node {replica.node_id}"
    facts: Fields = {
        "cluster_id": replica.cluster_id,
        "node_id": replica.node_id,
        "directory_id": replica.directory_id,
        "directory": wanted.folder,
    }
    text = f"recording cluster {replica.cluster_id} {who} into {wanted.folder}"
    report(Notice("recording", text, facts))
    found = view.quorum
    if found is not None:
        voters = ", ".join(str(state.replica.node_id) for state in found.voters)
        text = (
            f"connected: leader {found.leader_id} of epoch {found.epoch}, voters {voters}, high "
            f"watermark {found.high_watermark}"
        )
        report(Notice("connected", text, {"leader": found.leader_id, "epoch": found.epoch}))


def _settings(wanted: Observation, view: QuorumView, replica: ReplicaId) -> NodeSettings:
    """The observer's settings. The settings are read from the text of a properties file, so that
    they get the checks and the defaults of a node's server.properties."""
    name = view.listener
    servers = ",".join(address_text(*each) for each in view.controllers)
    values = {
        "node.id": str(replica.node_id),
        "log.dirs": wanted.folder,
        "controller.listener.names": name,
        "listener.security.protocol.map": f"{name}:PLAINTEXT",
        "controller.quorum.bootstrap.servers": servers,
        "controller.quorum.request.timeout.ms": str(REQUEST_TIMEOUT_MS),
        "metadata.max.retention.bytes": "-1",
        "metadata.max.retention.ms": "-1",
    }
    if wanted.listen is not None:
        values["listeners"] = f"{name}://{address_text(*wanted.listen)}"
    if wanted.metrics is not None:
        values["kraftlake.metrics.listener"] = address_text(*wanted.metrics)
    return replace(
        settings_in(Properties(wanted.folder, values)),
        static_voters=view.voters,
        authorizer=_READERS_ONLY,
        recording=Recording(f"{wanted.folder}/{ARCHIVE_FOLDER}", wanted.is_anonymous),
    )


_READERS_ONLY = Authorizer(
    {role: frozenset({EVERYBODY} if role is PrincipalRole.READER else ()) for role in PrincipalRole}
)
"""Clients of an observer may only read from it: they may not vote, change anything, or
replicate."""
