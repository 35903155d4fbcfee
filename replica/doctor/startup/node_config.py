"""The settings of a node: a server.properties, read line by line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from replica.errors import CorruptDataError
from replica.format.java_properties import ENCODING, PropertyLine, lines_in

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The security protocols. Without listener.security.protocol.map, each protocol is also a
listener's name."""
_ADDRESS = re.compile(r".*?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_DEFAULT_LISTENER, _DEFAULT_LOG_DIR = "PLAINTEXT://:9092", "/tmp/kafka-logs"  # noqa: S108


class Address(NamedTuple):
    """A host and a port."""

    host: str
    """The name or address of the host; "" for all interfaces."""
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class NodeListener(NamedTuple):
    """A listener of a node: the address that it opens, or the address that it advertises."""

    name: str
    """The listener's name, in capital letters."""
    address: Address


@dataclass(frozen=True)
class NodeConfig:
    """A node's server.properties."""

    path: str
    """The name of the file in messages."""
    lines: tuple[PropertyLine, ...]
    broken: str = ""
    """Why the file can't be read, such as `line 3: bad escape \\u12`; "" for a readable file."""

    @cached_property
    def settings(self) -> Mapping[str, PropertyLine]:
        """The line of each key. If a key comes twice, the last one counts."""
        return {line.key: line for line in self.lines}

    def text(self, name: str) -> str | None:
        """The value of a key without surrounding white space; None if the key is missing."""
        line = self.settings.get(name)
        return None if line is None else line.value.strip()

    def words(self, name: str) -> tuple[str, ...]:
        """The elements of a comma-separated list; none if the key is missing or its value empty."""
        text = self.text(name)
        return tuple(part.strip() for part in text.split(",")) if text else ()

    def number(self, name: str) -> int | None:
        """The value of a key as an integer; None if the key is missing, or the value is no
        integer."""
        text = self.text(name) or ""
        return int(text) if _WHOLE_NUMBER.fullmatch(text) else None

    def place(self, name: str) -> str:
        """The place of a key, such as `line 3`; "no line" if the key is missing."""
        line = self.settings.get(name)
        return "no line" if line is None else f"line {line.number}"

    def is_elsewhere(self, name: str) -> bool:
        """Whether the value stands outside of the file (config.providers)."""
        line = self.settings.get(name)
        return line is not None and "${" in line.value and bool(self.text("config.providers"))

    def key_of(self, listener: str, name: str) -> str:
        """The key that sets `name` for a listener: the listener's own key, or the key for all
        listeners."""
        own = f"listener.name.{listener.lower()}.{name}"
        return own if own in self.settings else name

    def of(self, listener: str, name: str) -> str | None:
        """The value that is in force for a listener; None if no key sets it."""
        return self.text(self.key_of(listener, name))

    @property
    def node_id(self) -> int | None:
        """node.id, or broker.id if node.id is missing; None if there is no such integer."""
        named = "node.id" if "node.id" in self.settings else "broker.id"
        return self.number(named)

    @property
    def roles(self) -> tuple[str, ...]:
        return self.words("process.roles")

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The paths of log.dirs, else of log.dir, else Kafka's default."""
        for name in ("log.dirs", "log.dir"):
            if self.text(name) is not None:
                return tuple(word for word in self.words(name) if word)
        return (_DEFAULT_LOG_DIR,)

    @property
    def metadata_dir(self) -> str | None:
        """The path of the metadata log's directory; None if no directory is named."""
        return self.text("metadata.log.dir") or next(iter(self.log_dirs), None)

    @property
    def all_dirs(self) -> tuple[str, ...]:
        """The distinct paths of all log directories. The metadata log's directory is the first."""
        named = (self.metadata_dir, *self.log_dirs)
        return tuple(dict.fromkeys(one for one in named if one is not None))

    @cached_property
    def static_voters(self) -> Mapping[int, Address]:
        """The voters that controller.quorum.voters names, as far as they can be read."""
        found = {}
        for word in self.words("controller.quorum.voters"):
            voter, _, rest = word.partition("@")
            address = address_in(rest)
            if _WHOLE_NUMBER.fullmatch(voter) and address is not None:
                found[int(voter)] = address
        return found

    @cached_property
    def bootstrap_servers(self) -> tuple[Address, ...]:
        """The addresses that controller.quorum.bootstrap.servers names, as far as they can be
        read."""
        words = self.words("controller.quorum.bootstrap.servers")
        return tuple(address for word in words if (address := address_in(word)) is not None)

    @property
    def controller_listener_names(self) -> tuple[str, ...]:
        return tuple(word for word in self.words("controller.listener.names") if word)

    @cached_property
    def listeners(self) -> tuple[NodeListener, ...]:
        """The readable listeners; Kafka's default if the key is missing."""
        words = self.words("listeners") if "listeners" in self.settings else (_DEFAULT_LISTENER,)
        return _listeners_in(words)

    @cached_property
    def advertised(self) -> tuple[NodeListener, ...]:
        """The advertised listeners: advertised.listeners, and the controller listeners that this
        setting doesn't name; all listeners if the key is missing."""
        if not self.text("advertised.listeners"):
            return self.listeners
        named = _listeners_in(self.words("advertised.listeners"))
        names = {one.name for one in named}
        controllers = set(self.controller_listener_names)
        rest = (one for one in self.listeners if one.name in controllers - names)
        return (*named, *rest)

    @cached_property
    def protocols(self) -> Mapping[str, str]:
        """The security protocol of each listener's name."""
        if "listener.security.protocol.map" not in self.settings:
            own = {name: name for name in PROTOCOLS}
            # KIP-1069: a map that isn't set has PLAINTEXT for controllers as long as nothing else
            # is in use
            names = {one.name for one in self.listeners}
            plain = not names & {"SSL", "SASL_PLAINTEXT", "SASL_SSL"}
            more = self.controller_listener_names if plain and self.roles else ()
            return own | {name: "PLAINTEXT" for name in more if name not in own}
        parts = (word.partition(":") for word in self.words("listener.security.protocol.map"))
        return {name.strip().upper(): protocol.strip().upper() for name, _, protocol in parts}

    @property
    def controller_address(self) -> Address | None:
        """The address that the node advertises to other voters; None if it advertises no controller
        listener."""
        names = self.controller_listener_names[:1]
        return next((one.address for one in self.advertised if one.name in names), None)


def node_config(path: str, data: bytes) -> NodeConfig:
    """The settings in the bytes of a server.properties. path: the file's name in messages."""
    text = data.decode(ENCODING)
    lines: list[PropertyLine] = []
    try:
        for line in lines_in(text, "replace"):
            lines.append(line)
    except CorruptDataError as error:
        number = 1 + text.count("\n", 0, error.position or 0)
        return NodeConfig(path, tuple(lines), f"line {number}: {error.reason}")
    return NodeConfig(path, tuple(lines))


def address_in(text: str) -> Address | None:
    """The address in a text host:port (Kafka: Utils.getHost); None for any other text."""
    match = _ADDRESS.fullmatch(text)
    if match is None or not match[1] or int(match[2]) > 65535:
        return None
    return Address(match[1], int(match[2]))


def listener_in(text: str) -> NodeListener | None:
    """The listener in a text NAME://host:port (Kafka: EndPoint); None for any other text."""
    match = _LISTENER.fullmatch(text)
    if match is None or len(match[3]) > 6:
        return None
    return NodeListener(match[1].upper(), Address(match[2], int(match[3])))


def _listeners_in(words: tuple[str, ...]) -> tuple[NodeListener, ...]:
    return tuple(one for word in words if (one := listener_in(word)) is not None)
