"""Who may do what: four roles, by principal.

Reading and replicating are open where nothing is configured, as Kafka is without an authorizer;
whatever changes the quorum or its log is closed until somebody is named administrator.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from replica.node.properties import Properties
from replica.wire.server import ANONYMOUS

EVERYBODY = "*"


class Role(Enum):
    """An administrator may read and describe too; a voter may do what observers may."""

    VOTER = "voter"
    OBSERVER = "observer"
    READER = "reader"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class Authorizer:
    """principals: of each role; EVERYBODY stands for all, ANONYMOUS too."""

    principals: dict[Role, frozenset[str]]

    def may(self, principal: str, *roles: Role) -> bool:
        """Whether the principal has one of the roles."""
        return any({principal, EVERYBODY} & self.principals[role] for role in roles)

    def is_named_voter(self, principal: str) -> bool:
        """Whether it has shown to be a voter by its own name: then its word counts for what it
        forwards. Anybody can be ANONYMOUS."""
        return principal != ANONYMOUS and principal in self.principals[Role.VOTER]


def authorizer_in(properties: Properties) -> Authorizer:
    """kraftlake.principals.ROLE: lists with semicolons, for names of certificates have commas."""
    found = {}
    for role in Role:
        default = "" if role is Role.ADMINISTRATOR else EVERYBODY
        text = properties.text(f"kraftlake.principals.{role.value}", default)
        found[role] = frozenset(name.strip() for name in text.split(";") if name.strip())
    return Authorizer(found)
