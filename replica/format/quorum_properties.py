"""quorum.properties: the voters that a node is configured with (controller.quorum.voters).

This is a file of kraftlake, not of Kafka. To have the configured voters compared, a user copies
this line of the node's server.properties into it, beside meta.properties. kraftlake doesn't read
server.properties here: it may hold passwords, and a capture copies all files that it reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from replica.errors import CorruptDataError
from replica.format.java_properties import ENCODING, properties_in
from replica.format.text_file import integer

FILE_NAME = "quorum.properties"

_KEY = "controller.quorum.voters"
_VOTER = re.compile(r"(?P<id>[0-9]+)@(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:@\[\],]+):(?P<port>[0-9]+)")
_MAX_NODE_ID, _MAX_PORT = 2**31 - 1, 65535


@dataclass(frozen=True, slots=True, order=True)
class ConfiguredVoter:
    """A voter as id@host:port names it, without the brackets around an IPv6 address."""

    voter_id: int
    host: str
    port: int


def decode(data: bytes) -> tuple[ConfiguredVoter, ...]:
    """The configured voters, sorted by id; empty for a quorum that keeps its voters in its log
    (KIP-853).

    Raises CorruptDataError with the byte of the line that can't be read.
    """
    value, position = "", 0
    for at, key, text in properties_in(data.decode(ENCODING)):
        if key == _KEY:
            value, position = text, at
    named = [part.strip() for part in value.split(",") if part.strip()]
    voters = [_voter(text, position) for text in named]
    if len({voter.voter_id for voter in voters}) < len(voters):
        raise CorruptDataError(f"{_KEY} names a voter twice", position)
    return tuple(sorted(voters))


def _voter(text: str, position: int) -> ConfiguredVoter:
    match = _VOTER.fullmatch(text)
    if match is None:
        raise CorruptDataError(f"{_KEY}: {text[:80]!r} is not id@host:port", position)
    return ConfiguredVoter(
        integer(match["id"], position, _KEY, _MAX_NODE_ID),
        match["host"].strip("[]"),
        integer(match["port"], position, _KEY, _MAX_PORT),
    )
