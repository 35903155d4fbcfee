"""The security and the limits of a listener, by the keys of Kafka's server.properties. A key with
the prefix `listener.name.NAME.` overrides the key without the prefix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from ssl import SSLContext

from replica.node.listeners import Listener, uses_sasl, uses_tls
from replica.node.properties import Properties
from replica.node.security.jaas import KEY, known_mechanism, login_in
from replica.node.security.limits import listener_limits_in
from replica.node.security.scram_file import read_credentials
from replica.node.security.tls_keys import tls_in
from replica.wire.limits import ListenerLimits
from replica.wire.sasl.server import Authenticator, PlainExchange, ScramExchange, ServerExchange
from replica.wire.tls import CLIENT_AUTH, Tls, server_context

SCRAM_FILE = "kraftlake.scram.credentials.file"
_USER = "user_"
_DEFAULT = ListenerLimits()


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """How a listener encrypts connections and authenticates its clients, and its limits."""

    tls: Tls | None = None
    """The settings of TLS; None for plain text."""
    client_auth: str = "none"
    """The value of ssl.client.auth: none, requested or required."""
    mechanisms: tuple[str, ...] = ()
    """The SASL mechanisms; empty for a listener without SASL."""
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The password of each user of PLAIN."""
    scram_file: str = ""
    """The path of the file with SCRAM credentials; "" for no file."""
    limits: ListenerLimits = _DEFAULT
    """The limits of this listener."""

    def guard(self) -> tuple[Authenticator | None, SSLContext | None]:
        """(authenticator, TLS context) for a Service. The authenticator is None without SASL, the
        context is None without TLS. This method reads the files. It raises UsageError, which names
        the file or the missing key, if a file or setting can't be used, and UnreadableFileError for
        a file that can't be read."""
        context = None if self.tls is None else server_context(self.tls, self.client_auth)
        return self._authenticator() if self.mechanisms else None, context

    def _authenticator(self) -> Authenticator:
        kept = read_credentials(self.scram_file) if self.scram_file else {}
        found: dict[str, Callable[[], ServerExchange]] = {}
        for name in self.mechanisms:
            if name == "PLAIN":
                found[name] = partial(PlainExchange, self.passwords)
            else:
                found[name] = partial(ScramExchange, name, kept[name])
        return found


def section_of(properties: Properties, listener: str) -> Properties:
    """The file's values for one listener: keys with the listener's prefix override keys without the
    prefix."""
    return properties.with_prefix(_prefix(listener))


def listener_security_in(properties: Properties, listener: Listener) -> ListenerSecurity:
    """The security settings of a listener, from the file's keys. This function opens no other file.
    Raises UsageError, which names the file and the key."""
    section = section_of(properties, listener.name)
    tls = tls_in(section) if uses_tls(listener.protocol) else None
    if tls is not None and tls.certificate is None:
        raise section.error("ssl.keystore.location", f"missing; {listener.name} needs it for TLS")
    client_auth = "none" if tls is None else _client_auth(properties, listener)
    if client_auth != "none" and tls is not None and tls.authorities is None:
        why = f"missing; ssl.client.auth={client_auth} needs it"
        raise section.error("ssl.truststore.location", why)
    mechanisms = _mechanisms(section) if uses_sasl(listener.protocol) else ()
    return ListenerSecurity(
        tls,
        client_auth,
        mechanisms,
        _passwords(section) if "PLAIN" in mechanisms else {},
        section.required(SCRAM_FILE, "/etc/kraftlake/scram") if set(mechanisms) - {"PLAIN"} else "",
        listener_limits_in(section, properties.only_with_prefix(_prefix(listener.name))),
    )


def _client_auth(properties: Properties, listener: Listener) -> str:
    """The value of ssl.client.auth: none, requested or required. A listener with SASL asks for
    certificates only if the key with the listener's own prefix is set, as in Kafka."""
    asked = properties if uses_sasl(listener.protocol) else section_of(properties, listener.name)
    own = _prefix(listener.name) if uses_sasl(listener.protocol) else ""
    return asked.choice(f"{own}ssl.client.auth", tuple(CLIENT_AUTH), "none")


def _prefix(listener: str) -> str:
    return f"listener.name.{listener.lower()}."


def _mechanisms(section: Properties) -> tuple[str, ...]:
    key = "sasl.enabled.mechanisms"
    section.required(key, "PLAIN,SCRAM-SHA-512")
    return tuple(known_mechanism(section, key, name) for name in section.names(key))


def _passwords(section: Properties) -> dict[str, str]:
    """The passwords by user, from the login module's options user_NAME="PASSWORD"."""
    key = f"plain.{KEY}"
    login = login_in(section, key)
    if login.mechanism != "PLAIN":
        raise section.error(key, "expected Kafka's PlainLoginModule")
    found = {
        name.removeprefix(_USER): password
        for name, password in login.options.items()
        if name.startswith(_USER)
    }
    if not found:
        raise section.error(key, f'no user may log in: expected {_USER}NAME="PASSWORD"')
    return found
