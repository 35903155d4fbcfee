"""The state of a running quorum for `kraftlake plan -b`. An observer fetches its log into a
temporary folder, and the leader doesn't count this observer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory

from jobs.cli.asking.about import AskedCluster
from jobs.cli.asking.cluster_source import ClusterSource, Wanted, from_directories
from jobs.cli.engine.connecting import addresses, client_config
from replica.doctor.verdict.facts import verdict_on_state
from replica.doctor.verdict.outage import with_verdict
from replica.doctor.verdict.verdict import Gap
from replica.errors import KraftlakeError
from replica.metadata.passed_over import NOTHING, PassedOver
from replica.node.descriptors import raise_limit
from replica.node.notice import Notice
from replica.node.observer.recorder import CLIENT, Observation, ObserverRecorder, opened_recorder

MAX_BYTES = 4 * 1024**3
"""The most bytes of the fetched log and its snapshots: a hostile node may send
bytes without end."""
_LOOK_S = 0.5
_FILES = Gap(
    "the files of the nodes",
    "a running quorum tells its state alone",
    "Check the nodes' directories for that.",
)


_NOT_JUDGED = (
    "the snapshots, quorum-state and bootstrap.checkpoint of each node have to be readable too: a "
    "running quorum doesn't tell them, so name the nodes' directories"
)


class NotReadError(KraftlakeError):
    """The log could not be read to the high watermark in time, or has too many bytes."""


@dataclass
class LiveQuorum:
    """A running quorum whose log is fetched."""

    bootstrap: str
    """A list of host:port with commas between them."""
    folder: str
    """The directory of the log. A second read fetches only new records."""
    timeout_s: float
    """The most seconds that each read may take."""
    command_config: str | None = None
    passed_over: PassedOver = NOTHING
    """The types of records that the replay passes over."""
    last_notice: str = field(default="no node answered", init=False)
    """The observer's last notice."""

    def source(
        self, broker_defaults: Mapping[str, str], read_by: str | None = None
    ) -> ClusterSource:
        """The state at the end of the log, which reaches the leader's high watermark. read_by: as
        in Wanted.

        Raises UsageError for unusable values; NotReadError where reading takes too long, or more
        than MAX_BYTES; and what opened_recorder and Recorder.run raise.
        """
        raise_limit()
        asyncio.run(self._fetch())
        asked = AskedCluster((self.folder,), passed_over=self.passed_over)
        found = from_directories(asked, broker_defaults, Wanted(read_by=read_by))
        # The leader itself tells what is committed; no directory of a voter is available.
        cluster = replace(found.cluster, quorum=None, unproven_from=None, uncommitted_from=None)
        verdict = verdict_on_state(cluster, _FILES)
        return replace(
            found,
            cluster=with_verdict(cluster, verdict),
            verdict=verdict,
            readings=tuple(one._replace(is_of_quorum=True) for one in found.readings),
            not_judged=_NOT_JUDGED,
        )

    async def _fetch(self) -> None:
        wanted = Observation(
            tuple(addresses(self.bootstrap)),
            self.folder,
            is_anonymous=True,
            client=client_config(self.command_config, CLIENT),
        )
        try:
            async with asyncio.timeout(self.timeout_s):
                recorder = await opened_recorder(wanted, self._note)
                await self._run(recorder)
        except TimeoutError as error:
            raise NotReadError(
                f"-b {self.bootstrap}: the log could not be read to its high watermark within "
                f"{self.timeout_s:g} s (--timeout); last: {self.last_notice}"
            ) from error

    async def _run(self, recorder: ObserverRecorder) -> None:
        running = asyncio.create_task(recorder.run(until_caught_up=True))
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=_LOOK_S)
                if _bytes_in(self.folder) > MAX_BYTES:
                    raise NotReadError(
                        f"-b {self.bootstrap}: the nodes sent more than {MAX_BYTES} bytes of log "
                        f"and snapshots; last: {self.last_notice}"
                    )
        finally:
            running.cancel()
            await asyncio.wait({running})
        await running

    def _note(self, notice: Notice) -> None:
        self.last_notice = notice.text


@contextmanager
def live_quorum(
    bootstrap: str, timeout_s: float, command_config: str | None, passed_over: PassedOver
) -> Iterator[LiveQuorum]:
    """A quorum whose log lies in a temporary folder while the context is open. command_config: a
    client's properties file; None for the defaults."""
    with TemporaryDirectory(prefix="kraftlake-plan-") as folder:
        yield LiveQuorum(bootstrap, f"{folder}/log", timeout_s, command_config, passed_over)


def _bytes_in(folder: str) -> int:
    """The bytes of all files in the folder. Files may vanish meanwhile."""
    found = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                found += os.lstat(os.path.join(path, name)).st_size
    return found
