"""The state of a running quorum, for `kraftlake plan -b`: its log is fetched by an observer that no
leader counts, into a folder that is gone afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

from jobs.asking.cluster_source import Wanted, from_directories
from jobs.engine.connecting import addresses, client_config
from replica.errors import KraftlakeError
from replica.health.cluster import Cluster
from replica.node.descriptors import raise_limit
from replica.node.notice import Notice
from replica.node.observer.recorder import CLIENT, Observation, opened_recorder


class NotReadError(KraftlakeError):
    """The time was over before the log was read to the high watermark."""


@dataclass
class LiveQuorum:
    """bootstrap: host:port, commas between. timeout_s: for each look. folder: where the log goes;
    a second look fetches what is new. said: the last notice of the observer."""

    bootstrap: str
    folder: str
    timeout_s: float
    command_config: str | None = None
    said: str = field(default="no node answered", init=False)

    def cluster(self, broker_defaults: Mapping[str, str]) -> Cluster:
        """The state at the end of the log, which reaches the high watermark that the leader tells.

        UsageError for what can't be meant, NotReadError where it takes too long, and what
        opened_recorder and Recorder.run raise.
        """
        raise_limit()
        asyncio.run(self._fetch())
        return from_directories((self.folder,), None, broker_defaults, Wanted()).cluster

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
                await recorder.run(until_caught_up=True)
        except TimeoutError as error:
            raise NotReadError(
                f"-b {self.bootstrap}: the log could not be read to its high watermark within "
                f"{self.timeout_s:g} s (--timeout); last: {self.said}"
            ) from error

    def _note(self, notice: Notice) -> None:
        self.said = notice.text


@contextmanager
def live_quorum(
    bootstrap: str, timeout_s: float, command_config: str | None
) -> Iterator[LiveQuorum]:
    """A quorum whose log lies in a folder of its own for as long as the context is open."""
    with TemporaryDirectory(prefix="kraftlake-plan-") as folder:
        yield LiveQuorum(bootstrap, f"{folder}/log", timeout_s, command_config)
