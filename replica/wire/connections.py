"""The connections of a node, and which connection is closed when a limit is reached.

A new connection is never refused while another connection is idle: the connection that has been
idle longest is closed. Clients that send requests stay connected, even if a stranger opens many
connections. The connections of voters are never closed for other connections.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from replica.wire.limits import UNLIMITED, NodeLimits

TOO_MANY = "too many connections"
TOO_MANY_OF_ADDRESS = "too many connections of its address"
MADE_ROOM = "closed to make room for another"
MOST_OF_VOTERS = 64
"""The most connections of voters that are never closed for other connections. A voter has two or
three connections. If the listener lets anybody vote, strangers can claim to be voters, so only the
MOST_OF_VOTERS connections with the newest requests are protected."""


@dataclass(slots=True, eq=False)
class Connected:
    """A connection of a client, and what the limits of connections depend on."""

    address: str
    """The address of the client, in the form of address_of."""
    listener: str
    close: Callable[[str], None]
    """A function that is called with the reason (a key of Server.refused) when the connection has
    to be closed for another connection. The function must not wait."""
    is_voters: bool = False
    """Whether a voter has sent a request on this connection."""
    is_busy: bool = False
    """Whether a request of this connection is arriving, being handled or being answered."""


class ListenerConnections:
    """The connections of all listeners of a node, by address. The connections of an address are in
    the order of their last requests; for a connection without a request, the time at which it was
    accepted counts."""

    def __init__(self, limits: NodeLimits) -> None:
        self.limits = limits
        self._by_address: dict[str, dict[Connected, None]] = {}
        self._by_listener: dict[str, int] = {}
        self._voters: dict[Connected, None] = {}

    def __len__(self) -> int:
        return sum(self._by_listener.values())

    def on(self, listener: str) -> int:
        """The number of connections of a listener."""
        return self._by_listener.get(listener, 0)

    def admit(self, new: Connected, listener_max: int = UNLIMITED) -> str:
        """Accept a connection. If a limit is reached, another connection is closed to make room.
        Returns "", or the reason why the connection is refused."""
        own = self._by_address.get(new.address, {})
        if len(own) >= self.limits.connections_of(new.address) and not self._make_room(own):
            return TOO_MANY_OF_ADDRESS
        if self.on(new.listener) >= listener_max and not self.make_room(new.listener):
            return TOO_MANY
        if len(self) >= self.limits.max_connections and not self.make_room():
            return TOO_MANY
        self._by_address.setdefault(new.address, {})[new] = None
        self._by_listener[new.listener] = self.on(new.listener) + 1
        return ""

    def heard(self, connected: Connected) -> None:
        """Note that this connection has just sent a request."""
        own = self._by_address.get(connected.address, {})
        if connected in own:
            del own[connected]
            own[connected] = None

    def protect(self, connected: Connected) -> None:
        """Note that a voter has sent a request on this connection."""
        self._voters.pop(connected, None)
        self._voters[connected] = None
        connected.is_voters = True
        if len(self._voters) > MOST_OF_VOTERS:
            oldest = next(iter(self._voters))
            del self._voters[oldest]
            oldest.is_voters = False

    def leave(self, connected: Connected) -> None:
        """Note that the connection is closed. A second call does nothing."""
        self._voters.pop(connected, None)
        own = self._by_address.get(connected.address, {})
        if connected not in own:
            return
        del own[connected]
        if not own:
            del self._by_address[connected.address]
        self._by_listener[connected.listener] -= 1

    def make_room(self, listener: str | None = None) -> bool:
        """Close a connection of the address that has the most connections. Returns False if only
        voters' connections are left. listener: close only a connection of this listener."""
        crowds = sorted(self._by_address.values(), key=len, reverse=True)
        return any(self._make_room(crowd, listener) for crowd in crowds)

    def _make_room(self, crowd: dict[Connected, None], listener: str | None = None) -> bool:
        """Close the connection of this address that has been idle longest; if all connections are
        busy, close the connection with the oldest last request. Returns False if only voters'
        connections are left."""
        others = [e for e in crowd if not e.is_voters and listener in (None, e.listener)]
        if not others:
            return False
        oldest = next((each for each in others if not each.is_busy), others[0])
        self.leave(oldest)
        oldest.close(MADE_ROOM)
        return True


def address_of(host: str) -> str:
    """The part of an address by which connections are counted: an IPv4 address, or the first 64
    bits of an IPv6 address, because one machine may have all addresses of such a network. Text that
    isn't an address is returned unchanged."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
