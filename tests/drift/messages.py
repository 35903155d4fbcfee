"""The differences between a message in Kafka's classes and in our tables, as lines."""

from __future__ import annotations

from collections.abc import Iterator

from tests.drift.layouts import Described, Layout

_Said = dict[str, list[int]]
"""A difference -> the versions that have it."""


def differences(name: str, kafka: Described, ours: Described, *, is_newest: bool) -> Iterator[str]:
    """The differences. name: the name of the message, in front of each line. is_newest: whether
    Kafka's release is the newest; our tables have more than the messages of older releases."""
    for version in kafka.versions:
        if version >= ours.versions.stop:
            yield f"{name}: version {version} is not in our table"
    for version in ours.versions if is_newest else ():
        if version >= kafka.versions.stop:
            yield f"{name}: our table has version {version}, Kafka has not"
    said: _Said = {}
    for version in kafka.versions:
        if version < ours.versions.start:
            continue
        for text in _of_version(kafka, ours, version):
            said.setdefault(text, []).append(version)
    for text, versions in said.items():
        yield f"{name}, {spelled('version', versions)}: {text}"


def fields_of(message: Described) -> str:
    """The fields of the newest version, for a message that our tables lack."""
    layout = message.layout(message.versions[-1])
    return "; ".join(f"{path} ({shape})" for path, shape in layout.items()) or "no fields"


def _of_version(kafka: Described, ours: Described, version: int) -> Iterator[str]:
    theirs, own = kafka.layout(version), ours.layout(version)
    for path, shape in theirs.items():
        if path not in own:
            yield f"our table lacks the field {path} ({shape})"
        elif own[path] != shape:
            yield f"the field {path} is {shape} in Kafka, {own[path]} in our table"
    for path, shape in own.items():
        if path not in theirs:
            yield f"our table has the field {path} ({shape}), Kafka has not"
    for above, names in _orders(theirs, own).items():
        if names != _orders(own, theirs)[above]:
            where = f" of {above}" if above else ""
            yield f"the fields{where} come in the order {', '.join(names)} in Kafka, not in ours"
    if kafka.is_flexible(version) != ours.is_flexible(version):
        yield f"Kafka's message {_flexible(kafka, version)}, ours {_flexible(ours, version)}"


def _orders(layout: Layout, other: Layout) -> dict[str, list[str]]:
    """By the path of a structure: its fields that are in both layouts, in the order of the wire.
    Tagged fields are in ascending order of their tags."""
    found: dict[str, list[str]] = {}
    for path, shape in layout.items():
        above, _, name = path.rpartition(".")
        if path in other and shape.tag is None:
            found.setdefault(above, []).append(name)
    return found


def _flexible(message: Described, version: int) -> str:
    return "is flexible" if message.is_flexible(version) else "is not flexible"


def spelled(what: str, numbers: list[int]) -> str:
    """The versions in words, such as version 3, or versions 3 to 5."""
    if len(numbers) == 1:
        return f"{what} {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{what}s {numbers[0]} to {numbers[-1]}"
    return f"{what}s {', '.join(map(str, numbers))}"
