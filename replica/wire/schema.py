"""How replica.wire.apis declares Kafka's requests and responses: fields of replica.message.schema,
whose messages are flexible (KIP-482) from some version on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from replica.message.schema import Field, declare

Message: TypeAlias = dict[str, Any]
"""A message: field name -> int, bool, str, bytes, None, Message, or a list of these. A uuid is its
22-character text. A field that is left out has its default."""


@dataclass(frozen=True, eq=False, slots=True)
class Structure:
    """The declaration of a whole message: its fields in all versions."""

    name: str
    versions: range
    flexible_since: int
    """The first flexible version, with compact lengths and tagged fields (KIP-482)."""
    fields: tuple[Field, ...]

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible_since


@dataclass(frozen=True, eq=False, slots=True)
class Api:
    """A request with its response."""

    name: str
    key: int
    versions: range
    """The declared versions. A server may serve fewer versions."""
    flexible_since: int
    request: Structure
    response: Structure

    def __repr__(self) -> str:
        return self.name

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible_since


def api(
    name: str,
    key: int,
    bounds: tuple[int, int],
    *,
    flexible_since: int,
    request: tuple[Field, ...],
    response: tuple[Field, ...],
) -> Api:
    """An API from its two tables. bounds: the oldest and the newest version of the API."""
    oldest, newest = bounds
    versions = range(oldest, newest + 1)
    return Api(
        name,
        key,
        versions,
        flexible_since,
        Structure(f"{name}Request", versions, flexible_since, request),
        Structure(f"{name}Response", versions, flexible_since, response),
    )


def field(name: str, type_name: str, *fields: Field, **options: Any) -> Field:
    """A field of a request or a response, with the named parameters of `declare`. The default of an
    array is a list, like its values."""
    if type_name.startswith("[]"):
        options = {"default": [], **options}
    return declare(name, type_name, *fields, **options)


def structs(name: str, *fields: Field, **options: Any) -> Field:
    """A field that is an array of structures. fields: the fields of each structure. options: the
    named parameters of `field`."""
    return field(name, "[]struct", *fields, **options)
