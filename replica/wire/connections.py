"""Who is connected to a node, and which connection is closed where there is no room for all.

A new connection is never refused while another one is idle: the connection that has been idle
longest makes room. However many connections a stranger opens, clients that send requests stay
connected. The connections of voters never make room.
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
"""How many connections of voters never make room. A voter has two or three. Where anybody may vote,
strangers can claim to be voters too, so only the connections with the newest requests count."""


@dataclass(slots=True, eq=False)
class Connected:
    """One connection."""

    address: str
    """The address of the client: see address_of."""
    listener: str
    close: Callable[[str], None]
    """A function that is called with the reason (a key of Server.refused) when the connection has
    to make room; it must not wait."""
    is_voters: bool = False
    """Whether a voter has sent a request on it."""
    is_busy: bool = False
    """Whether a request of it is arriving, worked on or being answered."""


class ListenerConnections:
    """The connections of all listeners of a node, by address; of one address in the order of their
    last requests."""

    def __init__(self, limits: NodeLimits) -> None:
        self.limits = limits
        self._by_address: dict[str, dict[Connected, None]] = {}
        self._by_listener: dict[str, int] = {}
        self._voters: dict[Connected, None] = {}

    def __len__(self) -> int:
        return sum(self._by_listener.values())

    def on(self, listener: str) -> int:
        """How many connections a listener has."""
        return self._by_listener.get(listener, 0)

    def admit(self, new: Connected, listener_max: int = UNLIMITED) -> str:
        """Accept a connection. Where there is no room, another one is closed for it. Returns "", or
        why there is no room."""
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
        """Close a connection of the address that has the most connections. listener: close only a
        connection of this listener. False where only voters' connections are left."""
        crowds = sorted(self._by_address.values(), key=len, reverse=True)
        return any(self._make_room(crowd, listener) for crowd in crowds)

    def _make_room(self, crowd: dict[Connected, None], listener: str | None = None) -> bool:
        """Close a connection of this address: one that never sent a request, else the one with the
        oldest request."""
        others = [e for e in crowd if not e.is_voters and listener in (None, e.listener)]
        if not others:
            return False
        oldest = next((each for each in others if not each.is_busy), others[0])
        self.leave(oldest)
        oldest.close(MADE_ROOM)
        return True


def address_of(host: str) -> str:
    """The part of an address that limits count: an IPv4 address, or the 64 bits of an IPv6 network,
    because one machine has all addresses of such a network. Text that is no address stands for
    itself."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
