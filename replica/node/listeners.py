"""Reads the addresses of listeners, voters and bootstrap servers in server.properties."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter, VoterSet, voter_set
from replica.node.properties import Properties

_ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.%]+)\]|(?P<host>[^:\[\]]*)):(?P<port>\d{1,5})")
_LISTENER = re.compile(r"(?P<name>[A-Za-z0-9_-]+)://(?P<address>.*)")
_VOTER = re.compile(r"(?P<id>\d{1,10})@(?P<address>.*)")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener of a node: its name, its address and its security protocol."""

    name: str
    host: str
    """The host; empty for all interfaces, as in Kafka."""
    port: int
    """The port; 0 for any free port."""
    protocol: str = "PLAINTEXT"
    """The security protocol, one of PROTOCOLS. listener.security.protocol.map names the protocol.
    For a listener that the map lacks, the protocol is the listener's name if this name is a
    protocol, else PLAINTEXT."""


def listeners(properties: Properties, key: str = "listeners") -> tuple[Listener, ...]:
    """The listeners at `key`, a comma-separated list of NAME://host:port. Raises UsageError for an
    invalid value."""
    found = []
    for text in properties.names(key):
        match = _LISTENER.fullmatch(text)
        if match is None:
            raise properties.error(key, f"{text!r} is not NAME://host:port")
        name = match["name"].upper()
        host, port = _address(properties, key, match["address"])
        found.append(Listener(name, host, port, protocol_of(properties, name)))
    if len({listener.name for listener in found}) < len(found):
        raise properties.error(key, "a listener's name occurs twice: name each once")
    return tuple(found)


def protocol_of(properties: Properties, name: str) -> str:
    """The protocol (one of PROTOCOLS) of the listener `name`, which may be a listener of another
    node. Raises UsageError for an invalid listener.security.protocol.map."""
    default = name if name in PROTOCOLS else "PLAINTEXT"
    return _protocols(properties).get(name, default)


def uses_tls(protocol: str) -> bool:
    return protocol.endswith("SSL")


def uses_sasl(protocol: str) -> bool:
    return protocol.startswith("SASL_")


def static_voters(properties: Properties, listener: str) -> VoterSet:
    """The voters in controller.quorum.voters, a comma-separated list of id@host:port. Empty for a
    quorum whose log names the voters (KIP-853). Raises UsageError for an invalid value."""
    key = "controller.quorum.voters"
    voters: dict[int, Voter] = {}
    for text in properties.names(key):
        match = _VOTER.fullmatch(text)
        if match is None or int(match["id"]) > 2**31 - 1:
            raise properties.error(key, f"{text!r} is not id@host:port")
        node_id = int(match["id"])
        if node_id in voters:
            raise properties.error(key, f"voter {node_id} occurs twice: name each voter once")
        host, port = _address(properties, key, match["address"])
        voters[node_id] = Voter(ReplicaKey(node_id), (Endpoint(listener, host, port),))
    return voter_set(voters.values())


def bootstrap_servers(properties: Properties) -> tuple[tuple[str, int], ...]:
    """The addresses in controller.quorum.bootstrap.servers, a comma-separated list of host:port.
    Raises UsageError for an invalid value."""
    key = "controller.quorum.bootstrap.servers"
    return tuple(_address(properties, key, text) for text in properties.names(key))


def address(properties: Properties, key: str) -> tuple[str, int] | None:
    """The address host:port at `key`; None if the key is missing. Raises UsageError for an invalid
    value."""
    text = properties.text(key)
    return _address(properties, key, text) if text else None


def address_in(text: str) -> tuple[str, int] | None:
    """The address in a text host:port or [IPv6]:port. None for any other text."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        return None
    return match["v6"] or match["host"] or "", int(match["port"])


def addresses_on(listener: str, endpoints: Iterable[Endpoint]) -> tuple[tuple[str, int], ...]:
    """The addresses of those endpoints that have the listener's name."""
    return tuple((each.host, each.port) for each in endpoints if each.name == listener)


def _address(properties: Properties, key: str, text: str) -> tuple[str, int]:
    found = address_in(text)
    if found is None:
        raise properties.error(key, f"{text!r} is not host:port")
    return found


def _protocols(properties: Properties) -> dict[str, str]:
    key = "listener.security.protocol.map"
    found = {}
    for text in properties.names(key):
        name, _, protocol = text.partition(":")
        if protocol.upper() not in PROTOCOLS:
            raise properties.error(key, f"{text!r}: expected one of {', '.join(PROTOCOLS)}")
        found[name.upper()] = protocol.upper()
    return found
