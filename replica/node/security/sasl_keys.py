"""The sasl. keys of a properties file, which say by which mechanism and as which user this process
logs in."""

from __future__ import annotations

from replica.node.properties import Properties
from replica.node.security.jaas import KEY, login_in
from replica.wire.sasl import scram
from replica.wire.sasl.client import Mechanism, Plain, Scram

MECHANISMS = ("PLAIN", *scram.HASHES)


def mechanism_in(properties: Properties, key: str) -> str:
    """The mechanism at `key`. Raises UsageError for an unknown mechanism, and where the key is
    missing: Kafka's default is GSSAPI (Kerberos), which isn't supported here."""
    found = properties.text(key)
    if not found:
        raise properties.error(key, f"missing; expected one of {', '.join(MECHANISMS)}")
    return known_mechanism(properties, key, found)


def known_mechanism(properties: Properties, key: str, name: str) -> str:
    if name not in MECHANISMS:
        raise properties.error(key, f"{name!r} isn't supported: expected {', '.join(MECHANISMS)}")
    return name


def identity_in(properties: Properties, mechanism: str, key: str = KEY) -> Mechanism:
    """The mechanism with the username and the password that the login module at `key` holds. Raises
    UsageError."""
    login = login_in(properties, key)
    if login.mechanism != mechanism.partition("-")[0]:
        raise properties.error(
            key, f"{login.mechanism}'s login module, but the mechanism is {mechanism}"
        )
    user, password = login.options.get("username"), login.options.get("password")
    if not user or password is None:
        raise properties.error(key, 'expected username="..." and password="..."')
    return Plain(user, password) if mechanism == "PLAIN" else Scram(user, password, mechanism)
