"""The vocabulary in which replica.wire.apis declares Kafka's requests and responses.

replica.message.schema is the vocabulary of records. Both are Kafka's message language;
replica.message says why they stay apart.

A message consists of the fields of its version: untagged ones in declared order and, from the API's
first flexible version on, tagged ones by rising tag (KIP-482).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from replica.message.schema import EMPTY_OF_KIND, Kind

Message: TypeAlias = dict[str, Any]
"""Field name -> int, bool, str, bytes, None, a list of those, or of Messages. A uuid is its
22-character text. A field that is left out has its default."""

FOREVER = 2**15 - 1
"""The last version there can be: versions are int16 on the wire."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field, which the versions from `since` to `until` have, both inclusive."""

    name: str
    kind: Kind
    is_array: bool
    since: int
    until: int
    nullable_since: int | None
    """The first version that allows null; None where no version does."""
    tag: int | None
    """The tag of the field; None for a field that is always written."""
    default: Any
    fields: tuple[Field, ...]
    """The fields of a structure; empty for other kinds."""

    def is_nullable(self, version: int) -> bool:
        return self.nullable_since is not None and self.nullable_since <= version


@dataclass(frozen=True, eq=False, slots=True)
class Structure:
    """A whole message."""

    name: str
    versions: range
    flexible_since: int
    """The first version with compact lengths and tags."""
    fields: tuple[Field, ...]

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible_since


@dataclass(frozen=True, eq=False, slots=True)
class Api:
    """A request with its response."""

    name: str
    key: int
    versions: range
    """The versions that are declared here; a server may serve fewer."""
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
    """An API from its two tables. bounds: its oldest and its newest version."""
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


_UNSET = object()


def field(
    name: str,
    type_name: str,
    *fields: Field,
    since: int = 0,
    until: int = FOREVER,
    nullable: bool = False,
    nullable_since: int | None = None,
    tag: int | None = None,
    default: object = _UNSET,
) -> Field:
    """A field of a table. type_name: the value of a Kind, with [] in front for an array."""
    is_array = type_name.startswith("[]")
    kind = Kind(type_name.removeprefix("[]"))
    assert bool(fields) == (kind is Kind.STRUCT), f"{name}: structures have fields, others don't"
    if default is _UNSET:
        default = [] if is_array else EMPTY_OF_KIND.get(kind, 0)
        if kind is Kind.STRUCT and not is_array:
            default = {inner.name: inner.default for inner in fields}
    if nullable:
        nullable_since = since
    return Field(name, kind, is_array, since, until, nullable_since, tag, default, fields)


def structs(name: str, *fields: Field, **options: Any) -> Field:
    """A field that is an array of structures. fields: those of each structure. options: the named
    parameters of `field`."""
    return field(name, "[]struct", *fields, **options)


def fields_at(fields: tuple[Field, ...], version: int) -> Iterator[Field]:
    """The fields of one version, in declared order."""
    return (entry for entry in fields if entry.since <= version <= entry.until)
