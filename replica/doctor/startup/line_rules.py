"""Judges each line of a server.properties on its own (Kafka: ConfigDef)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from replica.doctor.check.catalogue import startup
from replica.doctor.startup.known_settings import (
    OF_A_LISTENER,
    REMOVED_IN_4,
    SETTINGS,
    Kind,
    Type,
    kind_of,
)
from replica.doctor.startup.node_config import address_in
from replica.doctor.startup.obstacle import Obstacle, Start, StartingNode, of_setting, refused
from replica.format.java_properties import PropertyLine
from replica.metadata.known_configs import is_known_config
from replica.terminal_text import one_line
from replica.words import listed

_NUMBER = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")
_OF_A_TOPIC = "log."
_BYTE_ORDER_MARK = "\xef\xbb\xbf"
"""The byte order mark of UTF-8, decoded as Latin-1."""
_ROOM = 60
_MOST_COMPARED = 100
"""The maximum number of unknown names for which a similar known name is searched: each search takes
a few ms."""


def judge_file(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: an escape in the file that Java can't read."""
    config = node.config
    if config.broken:
        finding = startup.SETTING_NOT_UNDERSTOOD.at(config.path, config.broken)
        yield Obstacle(Start.REFUSES, finding, "Malformed \\uxxxx encoding.")


def judge_values(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: values of the wrong kind, or out of their bounds."""
    for name, line in sorted(node.config.settings.items()):
        kind = kind_of(name, node.release)
        if kind is None or node.config.is_elsewhere(name):
            continue
        yield from _judge_value(node, name, line.value.strip(), kind)


def _judge_value(node: StartingNode, name: str, text: str, kind: Kind) -> Iterator[Obstacle]:
    rule = startup.SETTING_NOT_UNDERSTOOD
    # KafkaConfig reads node.id as broker.id, too, and that first
    said = f"Invalid value {text} for configuration {name.replace('node.id', 'broker.id')}:"
    shown = one_line(text[:_ROOM])
    if kind.type is Type.TEXT:
        if kind.choices and text not in kind.choices:
            words = f"{said} String must be one of: {', '.join(kind.choices)}"
            message = f"{name}={shown} is none of {listed(kind.choices)}"
            yield refused(rule, node, name, message, words)
        return
    if kind.type is Type.BOOLEAN:
        if text.lower() not in ("true", "false"):
            words = f"{said} Expected value to be either true or false"
            yield refused(rule, node, name, f"{name}={shown} is neither true nor false", words)
        return
    if kind.type is Type.DOUBLE:
        value = float(text.rstrip("dDfF")) if _REAL.fullmatch(text) else None
    else:
        bound = 2 ** (kind.type.value - 1)
        whole = int(text) if _NUMBER.fullmatch(text) and len(text) < 25 else None
        value = whole if whole is not None and -bound <= whole < bound else None
    if value is None:
        what = "number" if kind.type is Type.DOUBLE else f"whole number of {kind.type.value} bits"
        words = f"{said} Not a number of type {kind.type.name}"
        yield refused(rule, node, name, f"{name}={shown} is no {what}", words)
    elif kind.least is not None and value < kind.least:
        words = f"{said} Value must be at least {_plain(kind.least)}"
        yield refused(rule, node, name, f"{name}={shown} is below {_plain(kind.least)}", words)
    elif kind.most is not None and value > kind.most:
        words = f"{said} Value must be no more than {_plain(kind.most)}"
        yield refused(rule, node, name, f"{name}={shown} is above {_plain(kind.most)}", words)


def _plain(bound: float) -> str:
    return str(int(bound) if bound == int(bound) else bound)


def judge_addresses(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: voters and bootstrap servers that are not addresses."""
    config, name = node.config, "controller.quorum.voters"
    for word in config.words(name):
        voter, at, rest = word.partition("@")
        rule, shown = startup.SETTING_NOT_UNDERSTOOD, one_line(word[:_ROOM])
        if not at or "@" in rest:
            words = f"Invalid configuration value for {name}. Each entry should be in the form"
        elif not _NUMBER.fullmatch(voter):
            words = f"Failed to parse voter ID as an integer from {voter}"
        elif rest.startswith("0.0.0.0:"):
            words = "Host string (0.0.0.0) is not routeable"
        elif address_in(rest) is None:
            words = f"Failed to parse host name from entry {word} for the configuration {name}"
        else:
            continue
        yield refused(rule, node, name, f"{name}: {shown} is no id@host:port", words)
    name = "controller.quorum.bootstrap.servers"
    for word in config.words(name):
        if address_in(word) is None:
            words = f"Failed to parse host name from {word} for the configuration {name}"
            message = f"{name}: {one_line(word[:_ROOM])} is not host:port"
            yield refused(startup.SETTING_NOT_UNDERSTOOD, node, name, message, words)


def judge_names(node: StartingNode) -> Iterator[Obstacle]:
    """An obstacle for each line that Kafka ignores, or that probably has another meaning than
    intended."""
    config, seen, unknown = node.config, dict[str, PropertyLine](), 0
    for line in config.lines:
        if "\0" in line.key:
            message = f"line {line.number} has a zero byte: the file is UTF-16, or no text"
            finding = startup.LINE_WITHOUT_KEY.at(config.path, message, position=line.position)
            yield Obstacle(Start.STARTS, finding)
            return
        if line.key.startswith(_BYTE_ORDER_MARK):
            message = f"line {line.number}: the file begins with a byte order mark, which Kafka "
            message += "takes for the first letters of the name"
            finding = startup.SETTING_UNKNOWN.at(config.path, message, position=line.position)
            yield Obstacle(Start.STARTS, finding)
            continue
        if not line.is_separated:
            message = f"line {line.number} has neither = nor :"
            finding = startup.LINE_WITHOUT_KEY.at(config.path, message, position=line.position)
            yield Obstacle(Start.STARTS, finding)
            continue
        before = seen.get(line.key)
        if before is not None and before.value != line.value:
            message = f"lines {before.number} and {line.number}: {_shown(line.key)}"
            finding = startup.SETTING_TWICE.at(config.path, message, position=line.position)
            yield Obstacle(Start.STARTS, finding)
        seen[line.key] = line
        if before is None and kind_of(line.key, node.release) is None:
            unknown += 1
            yield _judge_unknown(node, line.key, is_compared=unknown <= _MOST_COMPARED)


def _judge_unknown(node: StartingNode, name: str, *, is_compared: bool) -> Obstacle:
    """The obstacle of an unknown name. is_compared: whether a similar known name is searched."""
    if name in REMOVED_IN_4:
        message = f"{name}: Kafka 4.0 has removed it"
    elif name.startswith(OF_A_LISTENER) and kind_of(name.lower(), node.release) is not None:
        message = f"{_shown(name)}: Kafka reads these names in small letters only"
    elif is_known_config(name) and _OF_A_TOPIC + name in SETTINGS:
        message = f"{name} is a topic's setting; a node's is {_OF_A_TOPIC}{name}"
    elif is_compared and (similar := get_close_matches(name[:_ROOM], SETTINGS, 1, 0.85)):
        message = f"{_shown(name)}: {similar[0]} may be meant"
    else:
        finding = of_setting(startup.SETTING_OF_A_PLUGIN, node.config, name, _shown(name))
        return Obstacle(Start.STARTS, finding)
    finding = of_setting(startup.SETTING_UNKNOWN, node.config, name, message)
    return Obstacle(Start.STARTS, finding)


def _shown(name: str) -> str:
    return one_line(name[:_ROOM])
