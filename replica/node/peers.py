"""The connections to the other replicas: one for each address, opened when it is needed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from weakref import WeakSet

from replica.errors import (
    AuthenticationError,
    DataError,
    UnansweredConnectionError,
    UnreachablePeerError,
    UnsupportedByPeerError,
)
from replica.node.authorizer import VOTERS
from replica.node.local_processes import is_supported, is_within, peer_uid
from replica.node.notice import Notice, Report
from replica.node.rpcs import TRANSLATIONS
from replica.node.translate.partition import ReplicatedPartition
from replica.raft.effects import Send
from replica.raft.messages import (
    AddVoterRequest,
    PeerResponse,
    RemoveVoterRequest,
    VoterChangeResponse,
)
from replica.wire.client import ClientConfig, Connection
from replica.wire.pool import Address, Pool


class Peers:
    """Sends the core's requests to other replicas. The driver uses its `call`.

    address_of: a function that gives the address for a Send; None if the address is unknown.
    report: a function that takes notices for the operator. The same text about an address is not
        repeated.
    are_ours: whether voters on this machine must be processes of this user, because the settings
        name no voters.
    """

    def __init__(
        self,
        partition: ReplicatedPartition,
        config: ClientConfig,
        address_of: Callable[[Send], Address | None],
        report: Report,
        *,
        are_ours: bool = False,
    ) -> None:
        self._partition = partition
        self._pool = Pool(config)
        self._address_of = address_of
        self._report = report
        self._are_ours = are_ours
        self._checked: WeakSet[Connection] = WeakSet()
        self._said: dict[Address | None, str] = {}
        """The text of the last notice about each address; under None, of the last notice about a
        change of voters."""

    async def call(self, send: Send) -> PeerResponse:
        """Send the request, and return the answer. Raises PeerError if no answer comes, or if this
        release can't read the answer."""
        address = self._address_of(send)
        if address is None:
            raise UnreachablePeerError(f"node {send.node_id}", "no endpoint is known")
        try:
            response = await self._exchange(address, send)
        except (AuthenticationError, UnansweredConnectionError) as error:
            self._tell(address, str(error))
            raise
        except UnsupportedByPeerError as error:
            self._tell_of_change(send, str(error))
            raise
        except DataError as error:
            self._tell(address, f"{address[0]}:{address[1]}: unreadable answer: {error}")
            raise UnreachablePeerError(f"{address[0]}:{address[1]}", str(error)) from error
        self._said.pop(address, None)
        if isinstance(response, VoterChangeResponse):
            self._tell_of_change(send, _said(response))
        return response

    async def close(self) -> None:
        await self._pool.close()

    async def _exchange(self, address: Address, send: Send) -> PeerResponse:
        translation = TRANSLATIONS[type(send.message)]
        side = translation.client
        assert side is not None, f"no replica sends {translation.api}"
        connection = await self._pool.connection(address)
        if self._are_ours and connection not in self._checked:
            await self._check_owner(connection)
        least = translation.least_version(send.message)
        version = connection.version_of(translation.api, least)
        message = side.write(self._partition, send.message, version)
        answer = await connection.call(translation.api, message, version)
        return side.read(self._partition, answer.message, answer.version)

    async def _check_owner(self, connection: Connection) -> None:
        """Close a connection to a process of another user, because that user may have taken the
        port of a voter that isn't running. Raises AuthenticationError for such a process, and
        UnreachablePeerError if the process is unknown."""
        ends = connection.ends
        if is_supported() and is_within(*ends):
            uid = await asyncio.to_thread(peer_uid, *ends)
            if uid is None:
                await connection.close()
                raise UnreachablePeerError(
                    connection.address, "its process is unknown: reconnecting"
                )
            if uid != os.geteuid():
                await connection.close()
                why = "its process isn't this user's: run all voters as one, or name them"
                raise AuthenticationError(connection.address, f"{why} ({VOTERS})")
        self._checked.add(connection)

    def _tell_of_change(self, send: Send, came_of_it: str) -> None:
        """Report the result of this replica's request to change the voter set."""
        message = send.message
        if isinstance(message, RemoveVoterRequest):
            what = f"remove directory {message.voter.directory_id}"
        elif isinstance(message, AddVoterRequest):
            what = f"add directory {message.voter.directory_id}"
        else:
            return
        text = f"joining the voters: {what}: {came_of_it}"
        self._report_once(None, Notice("auto-join", text))

    def _tell(self, address: Address, text: str) -> None:
        facts = {"address": f"{address[0]}:{address[1]}"}
        self._report_once(address, Notice("peer-trouble", text, facts))

    def _report_once(self, address: Address | None, notice: Notice) -> None:
        """Report a notice, unless the last notice about this address had the same text."""
        if self._said.get(address) != notice.text:
            self._said[address] = notice.text
            self._report(notice)


def _said(response: VoterChangeResponse) -> str:
    return response.error.name + (f" ({response.message})" if response.message else "")
