"""Judges combinations of a node's settings (Kafka: KafkaConfig.validateValues)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from replica.doctor.check.catalogue import startup
from replica.doctor.startup.known_settings import STRICT_LISTS
from replica.doctor.startup.node_config import listener_in
from replica.doctor.startup.obstacle import Obstacle, StartingNode, refused
from replica.terminal_text import one_line
from replica.words import listed

_ROLES = ("broker", "controller")
_ANY_ADDRESS = "0.0.0.0"  # noqa: S104
_LEAST_SEGMENT = 8 * 1024 * 1024
_NAMES = "controller.listener.names"
_VOTERS = "controller.quorum.voters"


def judge_roles(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in process.roles."""
    config, rule, name = node.config, startup.PROCESS_ROLES_WRONG, "process.roles"
    is_old = node.release < (4, 0)
    if not config.roles:
        words = 'Missing required configuration "process.roles" which has no default value.'
        if is_old:
            words = "Missing required configuration `zookeeper.connect` which has no default value."
        if not (is_old and config.text("zookeeper.connect")):
            yield refused(rule, node, name, "process.roles is missing", words)
        return
    for role in config.roles:
        if role not in _ROLES:
            shown = one_line(role[:60]) or "an empty name"
            words = f"Invalid value {role} for configuration process.roles: String must be one of"
            yield refused(rule, node, name, f"process.roles: {shown} is no role", words)
    if len(set(config.roles)) < len(config.roles) and node.release < STRICT_LISTS:
        words = "Duplicate role names found in `process.roles`"
        yield refused(rule, node, name, "process.roles names a role twice", words)


def judge_node_id(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in node.id, which broker.id must not contradict."""
    config, rule = node.config, startup.NODE_ID_WRONG
    own, older = config.text("node.id"), config.text("broker.id")
    if own is None and older is None:
        words = 'Missing required configuration "node.id" which has no default value.'
        if node.release < (4, 0):
            words = "Missing configuration `node.id` which is required"
        yield refused(rule, node, "node.id", "node.id is missing", words)
    elif own is not None and older is not None and config.number("broker.id") != config.node_id:
        words = "to the same value"
        message = f"broker.id is {one_line(older[:20])}, and node.id is {one_line(own[:20])}"
        yield refused(rule, node, "broker.id", message, words)


def judge_quorum(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in the settings by which the node finds its quorum."""
    config = node.config
    named = (_VOTERS, "controller.quorum.bootstrap.servers")
    if config.roles and not any(config.words(name) for name in named):
        words = (
            "If using process.roles, either controller.quorum.bootstrap.servers must contain the "
            "set of bootstrap controllers or controller.quorum.voters must contain a parseable set "
            "of controllers."
        )
        yield refused(startup.QUORUM_NOT_NAMED, node, _VOTERS, f"{_VOTERS} is missing", words)


def judge_voters(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: a controller that is not a static voter, or a broker that is."""
    config, rule = node.config, startup.ROLE_AGAINST_VOTERS
    voters, own = config.static_voters, config.node_id
    if not voters or own is None:
        return
    shown = listed([str(one) for one in sorted(voters)])
    if config.is_controller and own not in voters:
        words = f"the node id {own} must be included in the set of voters {_VOTERS}="
        yield refused(rule, node, _VOTERS, f"node {own} is a controller; voters: {shown}", words)
    elif config.is_broker and not config.is_controller and own in voters:
        words = f"the node id {own} must not be included in the set of voters {_VOTERS}="
        yield refused(rule, node, _VOTERS, f"node {own} is a broker alone; voters: {shown}", words)


def judge_segment(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: a segment size of the metadata log that is too small. Kafka before 4.1 checks the
    size when it opens the log."""
    name = "metadata.log.segment.bytes"
    size = node.config.number(name)
    least = node.config.number("metadata.log.segment.min.bytes") or _LEAST_SEGMENT
    if size is not None and size < least and node.release < (4, 1):
        words = f"Cannot set {name} below {least}: {size}"
        message = f"{name}={size} is below {least}"
        yield refused(startup.SETTING_NOT_UNDERSTOOD, node, name, message, words)


def judge_listeners(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in a listener, or between two listeners."""
    config, rule = node.config, startup.LISTENERS_NOT_UNDERSTOOD
    for name in ("listeners", "advertised.listeners"):
        for word in config.words(name):
            if listener_in(word) is None:
                words = f"Unable to parse {word} to a broker endpoint"
                message = f"{name}: {one_line(word[:60])} is not NAME://host:port"
                yield refused(rule, node, name, message, words)
    names = Counter(one.name for one in config.listeners)
    ports = Counter(one.address.port for one in config.listeners if one.address.port)
    for twice in (name for name, count in names.items() if count > 1):
        words = "Each listener must have a different name"
        yield refused(rule, node, "listeners", f"the name {one_line(twice[:60])} twice", words)
    for port, count in ports.items():
        hosts = [one.address.host for one in config.listeners if one.address.port == port]
        if count > 1 and not _are_apart(hosts):
            words = "If you have two listeners on the same port then one needs to be IPv4"
            yield refused(rule, node, "listeners", f"the port {port} twice", words)
    for one in config.listeners:
        if one.name not in config.protocols:
            words = f"No security protocol defined for listener {one.name}"
            message = f"no security protocol for {one_line(one.name[:60])}"
            yield refused(rule, node, "listener.security.protocol.map", message, words)


def _are_apart(hosts: list[str]) -> bool:
    """Whether two hosts may share a port: Kafka allows it for an IPv4 and an IPv6 address
    (KIP-797)."""
    return len(hosts) == 2 and sorted(":" in host for host in hosts) == [False, True]


def judge_controller_listeners(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: controller.listener.names contradicts process.roles or listeners."""
    config, rule = node.config, startup.CONTROLLER_LISTENERS_WRONG
    if not config.roles or not {*config.roles} <= {*_ROLES}:
        return
    if not config.controller_listener_names:
        words = f'Missing required configuration "{_NAMES}" which has no default value.'
        if node.release < STRICT_LISTS:
            words = f"{_NAMES} must contain at least one value"
            if not config.is_broker:
                words = "The listeners config must only contain KRaft controller listeners"
        yield refused(rule, node, _NAMES, f"{_NAMES} is missing", words)
    elif config.is_controller:
        yield from _judge_own_listeners(node)
    else:
        yield from _judge_others_listeners(node)


def _judge_own_listeners(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in the listeners of a controller."""
    config, rule = node.config, startup.CONTROLLER_LISTENERS_WRONG
    names = config.controller_listener_names
    own = {one.name for one in config.listeners}
    absent = [name for name in names if name not in own]
    if not config.is_broker and (others := sorted(own - set(names))):
        words = f"The listeners config must only contain KRaft controller listeners from {_NAMES}"
        message = f"listeners: {_shown(others)} is none of {_NAMES}"
        yield refused(rule, node, "listeners", message, words)
    elif absent:
        words = f"{_NAMES} must contain at least one value appearing in the 'listeners'"
        if len(absent) < len(names):
            words = f"{_NAMES} must only contain values appearing in the 'listeners'"
        message = f"{_NAMES}: {_shown(absent)} is none of the listeners"
        yield refused(rule, node, _NAMES, message, words)


def _judge_others_listeners(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in the listeners at which a broker finds the controllers. A broker must not open
    these listeners itself."""
    config, rule = node.config, startup.CONTROLLER_LISTENERS_WRONG
    names = config.controller_listener_names
    own = {one.name for one in config.listeners}
    taken = [name for name in names if name in own]
    lacking = [name for name in names if name.upper() not in config.protocols]
    if taken:
        words = f"{_NAMES} must not contain a value appearing in the 'listeners'"
        message = f"{_NAMES}: {_shown(taken)} is one of the broker's listeners"
        yield refused(rule, node, _NAMES, message, words)
    elif lacking:
        words = f"Controller listener with name {lacking[0].upper()} defined in {_NAMES}"
        message = f"no security protocol for {_shown(lacking)}"
        yield refused(rule, node, "listener.security.protocol.map", message, words)


def judge_broker_listeners(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles in the listeners that a broker advertises to clients and other brokers."""
    config, rule = node.config, startup.BROKER_LISTENERS_WRONG
    for one in config.advertised:
        if one.address.host == _ANY_ADDRESS and (config.text("advertised.listeners") or ""):
            words = "cannot use the nonroutable meta-address 0.0.0.0"
            message = f"{one_line(one.name[:60])} is at 0.0.0.0, which no other node can reach"
            yield refused(rule, node, "advertised.listeners", message, words)
    named = config.text("inter.broker.listener.name")
    if named and named.upper() not in config.protocols:
        words = (
            f"Listener with name {named.upper()} defined in inter.broker.listener.name not found"
        )
        message = f"inter.broker.listener.name: no security protocol for {one_line(named[:60])}"
        yield refused(rule, node, "inter.broker.listener.name", message, words)
        return
    if not config.is_broker:
        return
    own = [one.name for one in config.listeners]
    controllers = config.controller_listener_names
    told = [one.name for one in config.advertised if one.name not in controllers]
    inside = (named or config.text("security.inter.broker.protocol") or "PLAINTEXT").upper()
    if not told:
        words = "There must be at least one broker advertised listener."
        yield refused(rule, node, "listeners", "no listener but the controllers'", words)
    elif inside not in told:
        words = "inter.broker.listener.name must be a listener name defined in advertised.listeners"
        message = f"{one_line(inside[:60])}, for other brokers, is none of {_shown(told)}"
        yield refused(rule, node, "inter.broker.listener.name", message, words)
    elif unknown := [name for name in told if name not in own]:
        words = "advertised.listeners listener names must be equal to or a subset of the ones"
        message = f"advertised.listeners: {_shown(unknown)} is none of the listeners"
        yield refused(rule, node, "advertised.listeners", message, words)


def _shown(names: list[str]) -> str:
    return listed([one_line(name[:60]) for name in names], limit=3)
