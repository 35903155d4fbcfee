"""The security of a node's listeners, and of its connections to other voters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replica.node.listeners import Listener, protocol_of, uses_sasl
from replica.node.properties import Properties
from replica.node.security.client import ClientSecurity, connect_timeout_s, exposed, security_of
from replica.node.security.jaas import KEY, identity_in, mechanism_in
from replica.node.security.limits import node_limits_in
from replica.node.security.listener import ListenerSecurity, listener_security_in, section_of
from replica.wire.client import ClientConfig
from replica.wire.limits import NodeLimits


@dataclass(frozen=True, slots=True)
class NodeSecurity:
    """The security of all connections of a node."""

    listeners: Mapping[str, ListenerSecurity]
    """The security of each listener, by its name."""
    voters: ClientSecurity
    """The security of connections to other voters."""
    connect_timeout_s: float | None
    """The longest time (s) to connect to a voter; None for the timeout of a request."""
    warnings: tuple[str, ...]
    """A line for each file with secrets that other users may read."""
    limits: NodeLimits
    """The limits that all listeners share."""

    def to_voters(self, timeout_s: float) -> ClientConfig:
        """The config for connections to voters. Raises UsageError, which names the PEM file, for a
        file with wrong content, and UnreadableFileError for a file that can't be read."""
        timeouts = ClientConfig(timeout_s=timeout_s, connect_timeout_s=self.connect_timeout_s)
        return self.voters.applied_to(timeouts)


def node_security_in(
    properties: Properties, bound: tuple[Listener, ...], controller: str
) -> NodeSecurity:
    """The security in a node's properties. This function opens no other file. Raises UsageError,
    which names file and key. controller: the name of the listener for other voters. Connections to
    other voters use the protocol of this listener."""
    found = {one.name: listener_security_in(properties, one) for one in bound}
    voters = _to_voters(properties, controller)
    stores = (voters.tls, *(each.tls for each in found.values()))
    keys = [store.key_file for store in stores if store is not None]
    warnings = exposed(properties, *keys, *(each.scram_file for each in found.values()))
    limits = node_limits_in(properties)
    return NodeSecurity(found, voters, connect_timeout_s(properties), warnings, limits)


def _to_voters(properties: Properties, controller: str) -> ClientSecurity:
    """The security of connections to other voters. As in Kafka, the listener's own login module
    also holds the username and the password for these connections."""
    section, protocol = section_of(properties, controller), protocol_of(properties, controller)
    sasl = None
    if uses_sasl(protocol):
        mechanism = mechanism_in(section, "sasl.mechanism.controller.protocol")
        sasl = identity_in(section, mechanism, f"{mechanism.lower()}.{KEY}")
    return security_of(section, protocol, sasl)
