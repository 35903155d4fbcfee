"""The roles of principals: each of four roles permits some requests.

Without settings, everybody may read and observe, as in Kafka without an authorizer. Nobody may
change the log or the voters until the settings name an administrator. Only voters may vote: the
principals that the settings name as voters. If the settings name none, voters are the processes of
this user on this machine that listen at the voters' addresses (replica.node.serve.voters).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from replica.node.properties import Properties
from replica.wire.server import ANONYMOUS

EVERYBODY = "*"
INSECURE = "kraftlake.insecure.open.listeners"
VOTERS = "kraftlake.principals.voter"
_OF_NODE = re.compile(r"(?P<id>\d{1,10})@(?P<principal>.+)", re.ASCII)


class PrincipalRole(Enum):
    """What a principal may do. An administrator may also read and describe; a voter may also
    observe."""

    VOTER = "voter"
    OBSERVER = "observer"
    READER = "reader"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class Authorizer:
    """The roles of all principals."""

    principals: dict[PrincipalRole, frozenset[str]]
    """The principals of each role. EVERYBODY means all principals, including ANONYMOUS."""
    names_voters: bool = True
    """Whether the settings name the voters' principals. If not, a replica recognizes a voter by its
    process."""
    nodes: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """The node ids in whose names a voter's principal may send requests. A principal that is
    missing here may send these requests for all nodes."""
    is_insecure: bool = False
    """Whether INSECURE is set."""

    def may(self, principal: str, *roles: PrincipalRole) -> bool:
        """Whether the principal has one of the roles."""
        return any({principal, EVERYBODY} & self.principals[role] for role in roles)

    def speaks_for(self, principal: str, node_id: int) -> bool:
        """Whether the principal has the role of a voter, and may send requests in the name of this
        node."""
        if not self.may(principal, PrincipalRole.VOTER):
            return False
        return principal not in self.nodes or node_id in self.nodes[principal]

    def is_named_voter(self, principal: str) -> bool:
        """Whether the settings name the principal as a voter. When a named voter forwards a
        request, the replica trusts that the voter has checked the caller. ANONYMOUS never counts as
        named, because every client that doesn't authenticate is ANONYMOUS."""
        return principal != ANONYMOUS and principal in self.principals[PrincipalRole.VOTER]


def authorizer_in(properties: Properties) -> Authorizer:
    """The authorizer with the roles that the settings kraftlake.principals.ROLE give. The value of
    a key is a list with semicolons between the principals, because the names in certificates hold
    commas. For a voter, the node id may stand before the principal: ID@PRINCIPAL. Raises UsageError
    for an invalid value, and if everybody could vote without INSECURE."""
    is_insecure = properties.flag(INSECURE, default=False)
    found = {}
    for role in (PrincipalRole.OBSERVER, PrincipalRole.READER, PrincipalRole.ADMINISTRATOR):
        default = "" if role is PrincipalRole.ADMINISTRATOR else EVERYBODY
        found[role] = _names(properties, f"kraftlake.principals.{role.value}", default)
    named = _names(properties, VOTERS, EVERYBODY if is_insecure else "")
    nodes: dict[str, set[int]] = {}
    everywhere = set()
    for name in named:
        match = _OF_NODE.fullmatch(name)
        if match is None:
            everywhere.add(name)
        else:
            nodes.setdefault(match["principal"].strip(), set()).add(int(match["id"]))
    found[PrincipalRole.VOTER] = frozenset(everywhere | nodes.keys())
    if not is_insecure and found[PrincipalRole.VOTER] & {EVERYBODY, ANONYMOUS}:
        raise properties.error(
            VOTERS,
            f"whoever can connect could vote and rewrite the log: name the voters, or set "
            f"{INSECURE}=true",
        )
    by_node = {name: frozenset(ids) for name, ids in nodes.items() if name not in everywhere}
    return Authorizer(found, bool(named), by_node, is_insecure)


def _names(properties: Properties, key: str, default: str) -> frozenset[str]:
    text = properties.text(key, default)
    return frozenset(name.strip() for name in text.split(";") if name.strip())
