"""Messages in Kafka's classes and in our tables, in one form to compare.

A layout is the content of one version of a message: the path of each field, such as endPoints.port,
with its shape, in the order of the wire and then by tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from replica.message.schema import Field, RecordSchema, fields_at
from replica.wire.schema import Structure

_OUR_NAMES = {"boolean": "bool", "records": "bytes"}


@dataclass(frozen=True)
class Shape:
    """The shape of a field. type: as in our tables, with [] in front for an array. default: in
    JSON's form; a structure's defaults are in its fields."""

    type: str
    nullable: bool
    tag: int | None
    default: Any

    def __str__(self) -> str:
        parts = [self.type]
        parts += ["null allowed"] if self.nullable else []
        parts += [] if self.tag is None else [f"tag {self.tag}"]
        if self.type != "struct":
            parts.append(f"default {'null' if self.default is None else repr(self.default)}")
        return ", ".join(parts)


Layout = Mapping[str, Shape]


@dataclass(frozen=True)
class Described:
    """A message in all its versions. layout: gives the content of a version; it may be a version
    that our table doesn't declare. is_flexible: whether a version has compact lengths and tags
    (KIP-482)."""

    versions: range
    layout: Callable[[int], Layout]
    is_flexible: Callable[[int], bool]


def by_kafka(message: Mapping[str, Any]) -> Described:
    """The message as KafkaFacts.java describes a generated class, with all its defaults."""
    versions = message["versions"]
    return Described(
        range(message["oldest"], message["newest"] + 1),
        lambda version: dict(_kafka_rows(versions[str(version)]["fields"])),
        lambda version: bool(versions[str(version)]["flexible"]),
    )


def without_left_out_texts(message: Described) -> Described:
    """The message with null as the default of a nullable text without a tag. Kafka's classes have
    an empty text there, and Kafka's code sets null; in our code the writer of the message leaves
    the field out. No byte of a message depends on this."""

    def layout(version: int) -> Layout:
        rows = message.layout(version).items()
        return {path: replace(s, default=None) if _is_text(s) else s for path, s in rows}

    def _is_text(shape: Shape) -> bool:
        of_none = shape.type == "string" and shape.nullable and shape.tag is None
        return of_none and shape.default == ""

    return replace(message, layout=layout)


def of_record(schema: RecordSchema) -> Described:
    """A metadata record in our table."""
    return Described(
        schema.versions,
        lambda version: dict(_our_rows(schema.fields, version)),
        lambda version: True,
    )


def of_structure(structure: Structure) -> Described:
    """A request or a response in our tables."""
    return Described(
        structure.versions,
        lambda version: dict(_our_rows(structure.fields, version)),
        structure.is_flexible,
    )


_Rows = Iterable[tuple[str, Shape]]


def _kafka_rows(fields: Iterable[Mapping[str, Any]], above: str = "") -> _Rows:
    for field in fields:
        kind, default = field["type"], field["default"]
        if kind == "records" and default is None:
            default = ""  # for records, Kafka's language has no other default
        name = ("[]" if field["array"] else "") + _OUR_NAMES.get(kind, kind)
        yield above + field["name"], Shape(name, field["nullable"], field["tag"], default)
        if kind == "struct":
            yield from _kafka_rows(field["structure"]["fields"], f"{above}{field['name']}.")


def _our_rows(fields: tuple[Field, ...], version: int, above: str = "") -> _Rows:
    for field in fields_at(fields, version):
        name = ("[]" if field.is_array else "") + field.kind.value
        default = {} if name == "struct" else _plain(field.default)
        yield above + field.name, Shape(name, field.is_nullable(version), field.tag, default)
        yield from _our_rows(field.fields, version, f"{above}{field.name}.")


def _plain(default: Any) -> Any:
    """The default in the form of KafkaFacts.java."""
    return {(): [], b"": ""}.get(default, default) if not isinstance(default, list) else default
