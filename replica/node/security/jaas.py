"""Reads sasl.jaas.config (a login module, whose options hold users and passwords) and the other
sasl. keys, which name the mechanism and the user of this process."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from replica.node.properties import Properties
from replica.wire.sasl import scram
from replica.wire.sasl.client import Mechanism, Plain, Scram

KEY = "sasl.jaas.config"
_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": "PLAIN",
    "org.apache.kafka.common.security.scram.ScramLoginModule": "SCRAM",
}
_FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(
    r"""\s*(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'"""
    r"""|(?P<sign>[=;])|(?P<word>[^\s=;"']+))""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b"}


@dataclass(frozen=True, slots=True)
class Login:
    """The login module in sasl.jaas.config."""

    mechanism: str
    """PLAIN or SCRAM, by the class of the login module."""
    options: dict[str, str] = field(repr=False)
    """The module's options, including passwords."""


def login_in(properties: Properties, key: str = KEY) -> Login:
    """The one login module at `key`: `MODULE required NAME="VALUE" ...;` (Kafka: JaasConfig).
    Raises UsageError, which never quotes the value of an option."""
    text = properties.required(key, "org.apache...PlainLoginModule required ...;")
    tokens = _tokens(text)
    if tokens is None or len(tokens) < 3 or tokens[-1] != (";", True):
        raise properties.error(key, 'expected: MODULE required NAME="VALUE" ... ; (one module)')
    (module, _), (flag, _), *options = tokens[:-1]
    # an unknown module isn't quoted: it may be a password in the wrong place
    if module not in _MODULES:
        known = " or ".join(name.rpartition(".")[2] for name in _MODULES)
        raise properties.error(key, f"this login module isn't supported: expected Kafka's {known}")
    if flag.lower() not in _FLAGS:
        raise properties.error(key, f"expected `required` after {module}")
    return Login(_MODULES[module], _options(properties, key, options))


def _options(properties: Properties, key: str, tokens: list[tuple[str, bool]]) -> dict[str, str]:
    found = {}
    names, equals, values = tokens[::3], tokens[1::3], tokens[2::3]
    is_whole = len(names) == len(equals) == len(values)
    if not is_whole or any(sign != ("=", True) for sign in equals):
        raise properties.error(key, 'expected NAME="VALUE" for each option, a blank between')
    for (name, is_sign), (value, is_other_sign) in zip(names, values, strict=True):
        if is_sign or is_other_sign:
            raise properties.error(key, 'expected NAME="VALUE" for each option, a blank between')
        found[name] = value
    return found


def _tokens(text: str) -> list[tuple[str, bool]] | None:
    """(text, whether the token is = or ;) for each token. None if a quoted string has no end."""
    found = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        kind = match.lastgroup
        assert kind is not None
        part = match[kind]
        if kind in ("double", "single"):
            part = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), part)
        found.append((part, kind == "sign"))
        position = match.end()
    return found


MECHANISMS = ("PLAIN", *scram.HASHES)


def mechanism_in(properties: Properties, key: str) -> str:
    """The mechanism at `key`. Raises UsageError for an unknown mechanism, and for a missing key:
    Kafka's default is GSSAPI (Kerberos), which isn't supported here."""
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
    UsageError if the login module is for another mechanism, or lacks the username or the
    password."""
    login = login_in(properties, key)
    if login.mechanism != mechanism.partition("-")[0]:
        raise properties.error(
            key, f"{login.mechanism}'s login module, but the mechanism is {mechanism}"
        )
    user, password = login.options.get("username"), login.options.get("password")
    if not user or password is None:
        raise properties.error(key, 'expected username="..." and password="..."')
    return Plain(user, password) if mechanism == "PLAIN" else Scram(user, password, mechanism)
