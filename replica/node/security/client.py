"""The security of connections that this process makes. The keys for connections to voters are in
the node's properties file. Other keys are in the properties file of a Kafka client, which Kafka's
own tools take too (--command-config). This module also finds files with secrets that other users of
the machine may read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace

from replica.node.listeners import PROTOCOLS, uses_sasl, uses_tls
from replica.node.properties import Properties
from replica.node.security.jaas import identity_in, mechanism_in
from replica.node.security.tls_keys import checks_host_name, tls_in
from replica.wire.client import ClientConfig
from replica.wire.sasl.client import Mechanism
from replica.wire.tls import Tls, client_context

_SECRET_KEYS = ("sasl.jaas.config", "ssl.key.password", "ssl.keystore.key")


def exposed(properties: Properties, *others: str | None) -> tuple[str, ...]:
    """A warning for each file that holds secrets and that other users of the machine may read. The
    files are `others`, and the properties file if that file holds a password or key."""
    paths = [properties.path] if properties.has_any(_SECRET_KEYS) else []
    paths += [path for path in others if path]
    return tuple(
        f"{path}: everybody on this machine may read its secrets: chmod o-rwx {path}"
        for path in dict.fromkeys(paths)
        if _others_may_read(path)
    )


def _others_may_read(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & stat.S_IROTH)
    except OSError:
        return False  # a file whose mode can't be read is reported when it is opened


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """The security of a connection."""

    tls: Tls | None = None
    """The settings of TLS; None for plain text."""
    checks_host_name: bool = True
    """Whether the certificate must name the host."""
    sasl: Mechanism | None = None
    """The settings of SASL; None for a connection without SASL."""

    def applied_to(self, config: ClientConfig) -> ClientConfig:
        """The config with this security. This method reads the PEM files. It raises UsageError,
        which names the file, for a file with wrong content, and UnreadableFileError for a file that
        can't be read."""
        if self.tls is None:
            return replace(config, tls=None, sasl=self.sasl)
        context = client_context(self.tls, check_host_name=self.checks_host_name)
        return replace(config, tls=context, sasl=self.sasl)


def client_security_in(properties: Properties) -> ClientSecurity:
    """The security by security.protocol, sasl.mechanism, sasl.jaas.config and the ssl. keys of a
    Kafka client's file. This function opens no other file. Raises UsageError, which names file and
    key."""
    protocol = properties.choice("security.protocol", PROTOCOLS, "PLAINTEXT")
    sasl = None
    if uses_sasl(protocol):
        sasl = identity_in(properties, mechanism_in(properties, "sasl.mechanism"))
    return security_of(properties, protocol, sasl)


def security_of(properties: Properties, protocol: str, sasl: Mechanism | None) -> ClientSecurity:
    """The security of connections by `protocol`, one of PROTOCOLS, with the ssl. keys of
    `properties`. Raises UsageError for an invalid value."""
    if not uses_tls(protocol):
        return ClientSecurity(sasl=sasl)
    return ClientSecurity(tls_in(properties), checks_host_name(properties), sasl)


def connect_timeout_s(properties: Properties, default: float | None = None) -> float | None:
    """The value of socket.connection.setup.timeout.ms, in seconds; `default` if the key is missing.
    Raises UsageError for an invalid value."""
    key = "socket.connection.setup.timeout.ms"
    return properties.number(key, 0, 1) / 1000 if properties.text(key) else default


def client_config_in(
    properties: Properties, default: ClientConfig
) -> tuple[ClientConfig, tuple[str, ...]]:
    """(config, warnings). The config is `default`, overridden by a Kafka client's file: the
    security, client.id, request.timeout.ms and socket.connection.setup.timeout.ms. The warnings
    have a line for each file with secrets that other users may read.

    Raises UsageError, which names file and key, and UnreadableFileError for a PEM file that can't
    be read.
    """
    timeout_ms = properties.number("request.timeout.ms", int(default.timeout_s * 1000), 1)
    config = replace(
        default,
        client_id=properties.text("client.id") or default.client_id,
        timeout_s=timeout_ms / 1000,
        connect_timeout_s=connect_timeout_s(properties, default.connect_timeout_s),
    )
    security = client_security_in(properties)
    key_file = security.tls.key_file if security.tls else None
    return security.applied_to(config), exposed(properties, key_file)
