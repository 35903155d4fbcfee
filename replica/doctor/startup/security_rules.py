"""Judges the TLS and SASL settings of the listeners that a node opens, and of its connections to
the controllers (Kafka: KafkaConfig, ChannelBuilders, DefaultSslEngineFactory, JaasContext).

The rules don't judge whether passwords open key stores and keys, the content of certificates, the
classes of plugins, Kerberos, and values that kafka-configs has set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from replica.doctor.check.catalogue import startup
from replica.doctor.startup.jaas import jaas_problem
from replica.doctor.startup.node_config import PROTOCOLS, NodeConfig
from replica.doctor.startup.obstacle import Obstacle, Start, StartingNode, of_setting, refused
from replica.format.key_stores import StoreFile
from replica.terminal_text import one_line
from replica.words import listed

_MAP, _INSIDE = "listener.security.protocol.map", "security.inter.broker.protocol"
_ENABLED, _TO_CONTROLLERS = "sasl.enabled.mechanisms", "sasl.mechanism.controller.protocol"
_BETWEEN_BROKERS = "sasl.mechanism.inter.broker.protocol"
_KERBEROS = "GSSAPI"
_OF_CLIENTS = "sasl.jaas.config"


class _Words(NamedTuple):
    """Kafka's words for the key store or the trust store. texts: the settings that hold PEM
    texts."""

    store: str
    password: str
    texts: tuple[str, ...]


_STORES = {
    "keystore": _Words(
        "SSL key store",
        "SSL key store password cannot be specified with PEM format",
        ("ssl.keystore.key", "ssl.keystore.certificate.chain"),
    ),
    "truststore": _Words(
        "SSL trust store",
        "SSL trust store password cannot be specified for PEM format",
        ("ssl.truststore.certificates",),
    ),
}


def judge_protocols(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in the security protocols of listeners, and of connections between brokers."""
    config, rule = node.config, startup.LISTENERS_NOT_UNDERSTOOD
    for word in () if config.is_elsewhere(_MAP) else config.words(_MAP):
        _, colon, rest = word.partition(":")
        protocol, shown = rest.strip(), one_line(word[:60])
        if word and not colon:
            words = f"Error parsing configuration property '{_MAP}'"
            yield refused(rule, node, _MAP, f"{_MAP}: {shown} is not NAME:PROTOCOL", words)
        elif word and protocol.upper() not in PROTOCOLS:
            words = f"Invalid security protocol `{protocol}` defined in {_MAP}"
            message = f"{_MAP}: {shown}: the protocol is none of {listed(PROTOCOLS)}"
            yield refused(rule, node, _MAP, message, words)
    if config.text("inter.broker.listener.name") and config.text(_INSIDE) is not None:
        words = f"Only one of inter.broker.listener.name and {_INSIDE} should be set."
        message = f"inter.broker.listener.name is set too ({config.place(_INSIDE)} sets {_INSIDE})"
        rule = startup.BROKER_LISTENERS_WRONG
        yield refused(rule, node, "inter.broker.listener.name", message, words)


def judge_mechanism_of_brokers(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in the SASL mechanism by which brokers log in to each other."""
    config = node.config
    listener, protocol = _between_brokers(config)
    mechanism = config.text(_BETWEEN_BROKERS) or _KERBEROS
    is_judged = config.is_broker and _has_sasl(protocol)
    if is_judged and mechanism not in _enabled(config, listener):
        words = (
            f"{_BETWEEN_BROKERS} must be included in {_ENABLED} when SASL is used for "
            "inter-broker communication"
        )
        yield _not_enabled(node, _BETWEEN_BROKERS, mechanism, listener, Start.REFUSES, words)


def _between_brokers(config: NodeConfig) -> tuple[str, str]:
    """(listener, security protocol) of the connections between brokers."""
    named = (config.text("inter.broker.listener.name") or "").upper()
    if named:
        return named, config.protocols.get(named, "")
    protocol = (config.text(_INSIDE) or "PLAINTEXT").upper()
    return protocol, protocol


def judge_stores(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in the key stores and trust stores of TLS."""
    done: set[str] = set()
    inside, _ = _between_brokers(node.config)
    for listener, protocol in _channels(node.config):
        if not _has_tls(protocol) or node.config.of(listener, "ssl.engine.factory.class"):
            continue
        for store in _STORES:
            key = node.config.key_of(listener, f"ssl.{store}.location")
            if key not in done:
                done.add(key)
                yield from _judge_store(node, listener, store)
        if node.config.is_broker and listener == inside and not _has_key(node.config, listener):
            words = "A client SSLEngine created with the provided settings can't connect"
            message = f"listener {one_line(listener[:60])}, of brokers, has TLS and no key store"
            yield refused(startup.KEY_STORE_UNUSABLE, node, _MAP, message, words)


def _judge_store(node: StartingNode, listener: str, store: str) -> Iterator[Obstacle]:
    config, own = node.config, _STORES[store]
    location, password, kind = (f"ssl.{store}.{last}" for last in ("location", "password", "type"))
    names = (location, password, kind, *own.texts)
    keys = {name: config.key_of(listener, name) for name in names}
    if any(config.is_elsewhere(key) for key in keys.values()):
        return
    path, has_password = config.text(keys[location]), config.text(keys[password]) is not None
    type_of = config.text(keys[kind]) or "JKS"
    texts = [name for name in own.texts if config.text(keys[name]) is not None]
    problem: tuple[str, str, str] | None = None
    if texts and type_of != "PEM":
        problem = texts[0], f"{kind} is {type_of[:20]}, not PEM", "can be specified only for PEM"
    elif texts and len(texts) < len(own.texts):
        (absent,) = set(own.texts) - {*texts}
        problem = texts[0], f"{absent} is missing", "is specified, but"
    elif texts and path is not None:
        problem = location, f"{texts[0]} is set too", f"Both {own.store} location and separate"
    elif type_of == "PEM" and has_password and (texts or path is not None):
        problem = password, "a PEM store has no password; that of a key is ssl.key.password", (
            own.password
        )  # fmt: skip
    elif path is None and has_password:
        problem = password, f"{location} is missing", f"{own.store} is not specified, but"
    elif path is not None and store == "keystore" and not has_password and type_of != "PEM":
        problem = location, f"{password} is missing", f"{own.store} is specified, but key store"
    elif path is not None and path in node.stores:
        problem = _of_file(location, path, type_of, store, node.stores[path])
    if problem is not None:
        name, message, words = problem
        message = f"{keys[name]}: {one_line(message)}"
        yield refused(startup.KEY_STORE_UNUSABLE, node, keys[name], message, words)


def _of_file(
    location: str, path: str, type_of: str, store: str, file: StoreFile
) -> tuple[str, str, str] | None:
    """(the setting, what is wrong, Kafka's message) for a store's file; None if the file is
    usable."""
    words = f"Failed to load SSL keystore {path} of type {type_of}"
    wrong = file.reason
    if type_of == "PEM":
        words = f"Failed to load PEM SSL keystore {path}"
        if not wrong and not file.has_pem_certificate:
            wrong = "it holds no PEM certificate"
        elif not wrong and store == "keystore" and not file.has_pem_key:
            wrong = "it holds no PEM private key"
    elif not wrong and type_of in ("JKS", "PKCS12") and not file.is_key_store:
        wrong = f"it is no key store of type {type_of}"
    return (location, f"{path}: {wrong}", words) if wrong else None


def judge_logins(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in the login module of each SASL mechanism, which Kafka needs before it opens
    listeners."""
    config = node.config
    own = {one.name for one in config.listeners}
    wanted: dict[str, tuple[str, str]] = {}
    for listener, protocol in _channels(config):
        if not _has_sasl(protocol):
            continue
        mechanisms = _enabled(config, listener) if listener in own else ()
        if listener in _way_to_controllers(config):
            mechanisms = (*mechanisms, config.text(_TO_CONTROLLERS) or _KERBEROS)
        for one in mechanisms:
            name = f"listener.name.{listener.lower()}.{one.lower()}.sasl.jaas.config"
            wanted.setdefault(name, (listener, one))
    for name, (listener, mechanism) in wanted.items():
        yield from _judge_login(node, name, listener, mechanism)


def _judge_login(
    node: StartingNode, name: str, listener: str, mechanism: str
) -> Iterator[Obstacle]:
    text, rule = node.config.text(name), startup.SASL_LOGIN_WRONG
    if node.config.is_elsewhere(name):
        return
    if text is None:
        entries = ("KafkaServer", f"{listener.lower()}.KafkaServer")
        if not {*entries} & node.login_entries:
            first, second = entries
            words = f"Could not find a '{first}' or '{second}' entry in the JAAS configuration"
            message = f"no {one_line(name[:120])}, for {one_line(mechanism[:40])}"
            if node.config.text(_OF_CLIENTS) is not None:
                message += f"; no listener reads {_OF_CLIENTS}"
            yield refused(rule, node, _OF_CLIENTS, message, words)
    elif (problem := jaas_problem(text)) is not None:
        message, words = problem
        yield refused(rule, node, name, f"{one_line(name[:120])}: {one_line(message)}", words)


def judge_way_to_controllers(
    node: StartingNode, nodes: Sequence[StartingNode]
) -> Iterator[Obstacle]:
    """An obstacle if none of the other given controllers accepts the node's connections. If no
    other controller was given, the node's own settings are judged as those of a controller."""
    controllers = [one.config for one in nodes if one.config.is_controller]
    others = [one for one in controllers if one is not node.config] or controllers
    refusals = [_refusal(node, one) for one in others if _way_to_controllers(node.config)]
    if refusals and refusals[0] is not None and all(refusals):
        yield refusals[0]


def _refusal(node: StartingNode, other: NodeConfig) -> Obstacle | None:
    """The obstacle if a controller with these settings doesn't accept the node's connections; else
    None."""
    config, file = node.config, one_line(other.path)
    (listener, *_), (theirs, *_) = _way_to_controllers(config), (*_way_to_controllers(other), "")
    mine, protocol = config.protocols.get(listener, ""), other.protocols.get(theirs, "")
    told = ""
    if mine and protocol and mine != protocol:
        told = f"{mine} is spoken to the controllers, and {file} has {protocol}"
    elif mine == protocol and _has_tls(protocol) and not _has_key(other, theirs):
        told = f"{file}: listener {one_line(theirs[:60])} has TLS and no key store"
    if told:
        finding = of_setting(startup.CONTROLLER_SECURITY_DIFFERS, config, _MAP, told)
        return Obstacle(Start.NEVER_JOINS, finding)
    mechanism = config.text(_TO_CONTROLLERS) or _KERBEROS
    if mine == protocol and _has_sasl(protocol) and mechanism not in _enabled(other, theirs):
        return _not_enabled(node, _TO_CONTROLLERS, mechanism, theirs, Start.NEVER_JOINS)
    return None


def _has_key(config: NodeConfig, listener: str) -> bool:
    """Whether a listener with TLS has a key of any kind."""
    names = ("ssl.keystore.location", "ssl.keystore.key", "ssl.engine.factory.class")
    return any(config.of(listener, name) is not None for name in names)


def _not_enabled(
    node: StartingNode, name: str, mechanism: str, listener: str, start: Start, words: str = ""
) -> Obstacle:
    rule = startup.SASL_MECHANISM_NOT_ENABLED
    shown, where = one_line(mechanism[:40]), one_line(listener[:60])
    message = f"{name} is {shown}, which listener {where} doesn't enable"
    return Obstacle(start, of_setting(rule, node.config, name, message), words)


def _channels(config: NodeConfig) -> Iterator[tuple[str, str]]:
    """(listener, security protocol) of the node's own listeners, and of its connections to
    controllers."""
    names = (*(one.name for one in config.listeners), *_way_to_controllers(config)[:1])
    for name in dict.fromkeys(names):
        yield name, config.protocols.get(name, "")


def _way_to_controllers(config: NodeConfig) -> tuple[str, ...]:
    return tuple(one.upper() for one in config.controller_listener_names[:1])


def _enabled(config: NodeConfig, listener: str) -> tuple[str, ...]:
    key = config.key_of(listener, _ENABLED)
    return config.words(key) if key in config.settings else (_KERBEROS,)


def _has_tls(protocol: str) -> bool:
    return protocol in ("SSL", "SASL_SSL")


def _has_sasl(protocol: str) -> bool:
    return protocol in ("SASL_PLAINTEXT", "SASL_SSL")


def store_paths(config: NodeConfig) -> set[str]:
    """The store files that the settings name by absolute paths, for the listeners with TLS."""
    found = set()
    for listener, protocol in _channels(config):
        for store in _STORES if _has_tls(protocol) else ():
            path = config.of(listener, f"ssl.{store}.location")
            if path is not None and os.path.isabs(path):
                found.add(path)
    return found
