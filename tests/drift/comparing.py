"""The differences between our tables and a Kafka release: a line for each, which begins with the
file to edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from replica.doctor.startup.known_settings import Type
from tests.drift import known
from tests.drift.layouts import by_kafka, of_record, of_structure, without_left_out_texts
from tests.drift.messages import differences, fields_of, spelled
from tests.drift.tables import CHANGES_QUESTION, CONTROL_MESSAGES, SNAPSHOT_QUESTIONS, Tables

Facts = Mapping[str, Any]
"""What KafkaFacts.java prints, and the release, such as "4.5"."""

_RANGE = re.compile(r"\[(-?[0-9.]+),\.\.\.")
_TYPES = {one.name: one for one in Type}
_OLDEST_LEVEL = 7
"""3.3-IV3. Below this level KRaft was only a preview."""

_RECORDS = "replica/metadata/records.py"
_APIS = "replica/wire/apis/"
_CONTROL_TYPES = "replica/format/control.py"
_CONTROL_RECORDS = "replica/format/control_records.py"
_QUORUM_STATE = "replica/format/quorum_state.py"
_ERRORS = "replica/model/kafka_errors.py"
_READERS = "replica/metadata/changes/readers.py"
_RELEASES = "replica/metadata/changes/releases.py"
_SNAPSHOT = "replica/metadata/image/snapshot.py"
_KNOWN = "tests/drift/known.py"
_SETTINGS = "replica/node/settings.py"
_REDACTION = "replica/metadata/redact.py"
_KEPT_CONFIGS = "replica/metadata/image/settings.py"
_KNOWN_CONFIGS = "replica/metadata/known_configs.py"
_TOPIC_CONFIGS = "replica/metadata/topic_configs.py"
_KNOWN_SETTINGS = "replica/doctor/startup/known_settings.py"


def drift(facts: Facts, tables: Tables, *, is_newest: bool) -> list[str]:
    """The differences. is_newest: whether the facts are of the newest known release, or of a later
    one. Our tables have what any release up to the newest has, so an older release may lack some of
    it."""
    return [
        *_in(_RECORDS, _records(facts, tables, is_newest)),
        *_in(_APIS, _apis(facts, tables, is_newest)),
        *_in(_CONTROL_TYPES, _control_types(facts, tables, is_newest)),
        *_in(_CONTROL_RECORDS, _written(facts["controlMessages"], tables)),
        *_in(_QUORUM_STATE, _written(facts["files"], tables)),
        *_in(_ERRORS, _errors(facts, tables, is_newest)),
        *_in(_RELEASES, _levels(facts, tables)),
        *_in(_READERS, _readers(facts, tables)),
        *_questions(facts, tables, is_newest),
        *_in(_KNOWN, _features(facts, tables, is_newest)),
        *_in(_SETTINGS, _configs(facts, tables, is_newest)),
        *_in(_REDACTION, _passwords(facts, tables)),
        *_in(_KEPT_CONFIGS, _kept_configs(facts, tables)),
        *_in(_KNOWN_CONFIGS, _known_configs(facts, tables)),
        *_in(_TOPIC_CONFIGS, _topic_configs(facts, tables, is_newest)),
        *_in(_KNOWN_SETTINGS, _known_settings(facts, tables)),
    ]


def _in(place: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines, each after the file whose edit ends the difference."""
    return (f"{place}: {line}" for line in lines)


def _records(facts: Facts, tables: Tables, is_newest: bool) -> Iterator[str]:
    ours = {schema.api_key: schema for schema in tables.records}
    for row in facts["records"]:
        name, kafka = row["name"], by_kafka(row)
        if row["key"] not in ours:
            newest = kafka.versions[-1]
            yield f"{name}: no record of ours; key {row['key']}, versions 0 to {newest}: " + (
                fields_of(kafka)
            )
            continue
        schema = ours.pop(row["key"])
        if schema.name != name:
            yield f"{name}: our record of key {row['key']} is called {schema.name}"
        yield from differences(name, kafka, of_record(schema), is_newest=is_newest)
    for schema in ours.values() if is_newest else ():
        yield f"{schema.name}: a record of ours, and none of Kafka's"
    if is_newest and tables.newest_kafka != facts["release"]:
        yield f"NEWEST_KAFKA is {tables.newest_kafka}, and the release is {facts['release']}"


def _apis(facts: Facts, tables: Tables, is_newest: bool) -> Iterator[str]:
    ours = dict(tables.apis)
    for row in facts["apis"]:
        name, api = row["name"], ours.pop(row["key"], None)
        stable = f"versions {row['oldest']} to {row['newestStable']}"
        if api is None:
            if name not in known.UNSPOKEN:
                yield f"{name}: no request of ours, and not left out by choice (UNSPOKEN in " + (
                    f"tests/drift/known.py); key {row['key']}, {stable}"
                )
            continue
        if api.name != name:
            yield f"{name}: our request of key {row['key']} is called {api.name}"
        most = max(row["newestStable"], api.versions[-1])  # an unstable version may still change
        for side, structure in (("request", api.request), ("response", api.response)):
            cut = {**row[side], "newest": min(row[side]["newest"], most)}
            kafka = without_left_out_texts(by_kafka(cut))
            declared = without_left_out_texts(of_structure(structure))
            yield from differences(f"{name} {side}", kafka, declared, is_newest=is_newest)
    for api in ours.values() if is_newest else ():
        yield f"{api.name}: a request of ours, and none of Kafka's"


def _control_types(facts: Facts, tables: Tables, is_newest: bool) -> Iterator[str]:
    return _numbers(
        "control record", facts["controlTypes"], tables.controls, is_newest, but=("UNKNOWN",)
    )


def _written(messages: Mapping[str, Any], tables: Tables) -> Iterator[str]:
    """The fields that our code writes of control records and of quorum-state. No table of kraftlake
    has types and defaults for them."""
    for name, row in messages.items():
        kafka, ours = by_kafka(row), tables.written[name]
        for version in kafka.versions:
            if version not in ours:
                yield f"{name}: version {version} is not in our code"
                continue
            theirs = kafka.layout(version)
            for path in sorted(theirs.keys() ^ ours[version]):
                shape = theirs.get(path)
                lacks = f"lacks the field {path} ({shape})" if shape else f"has the field {path}"
                yield f"{name}, version {version}: our code {lacks}"


def _errors(facts: Facts, tables: Tables, is_newest: bool) -> Iterator[str]:
    ours = {name: code for code, name in tables.error_names.items()}
    yield from _numbers("error code", facts["errors"], ours, is_newest)


def _numbers(
    what: str,
    kafka: Mapping[str, int],
    ours: Mapping[str, int],
    is_newest: bool,
    but: tuple[str, ...] = (),
) -> Iterator[str]:
    for name, number in kafka.items():
        if name not in ours and name not in but:
            yield f"{what} {number} {name}: not in our table"
        elif name in ours and ours[name] != number:
            yield f"{what} {name}: {number} in Kafka, {ours[name]} in our table"
    for name in ours.keys() - kafka.keys() if is_newest else ():
        yield f"{what} {ours[name]} {name}: in our table, and not in Kafka"


def _by_level(facts: Facts) -> dict[int, Mapping[str, Any]]:
    return {int(level): row for level, row in facts["levels"].items() if int(level) > 0}


def _readers(facts: Facts, tables: Tables) -> Iterator[str]:
    """What a release reads of a log, in every part of our table's row for this release."""
    ours = tables.readers.get(facts["release"])
    if ours is None:
        return
    levels = [at for at, row in _by_level(facts).items() if row["isProduction"]]
    features = {name: row["newestStable"] for name, row in facts["features"].items()}
    kafka = {
        "levels": range(min(levels), max(levels) + 1),
        "features": {name: level for name, level in features.items() if level},
        "records": {row["name"]: row["newest"] for row in facts["records"]},
        "controls": {
            CONTROL_MESSAGES[name][0].name: row["newest"]
            for name, row in facts["controlMessages"].items()
        },
        "quorum_state": facts["files"]["QuorumStateData"]["newest"],
    }
    if ours.bootstrap_level is not None:
        kafka["bootstrap_level"] = max(_by_level(facts))
    for part, theirs in kafka.items():
        if getattr(ours, part) != theirs:
            told = f"{theirs} in Kafka, {getattr(ours, part)} in our table"
            yield f"{facts['release']}, {part}: {told}"


def _levels(facts: Facts, tables: Tables) -> Iterator[str]:
    """The names of metadata.version's levels, and the newest level of a cluster
    with this release."""
    levels = _by_level(facts)
    for level, row in levels.items():
        ours = tables.releases.get(level)
        if ours is None:
            yield f"metadata.version {level} {row['version']}: not in our table"
        elif ours != row["version"]:
            yield f"metadata.version {level}: {row['version']} in Kafka, {ours} in our table"
    release, stable = facts["release"], [at for at, row in levels.items() if row["isProduction"]]
    known_newest = tables.newest_levels.get(release)
    if known_newest != max(stable):
        yield f"NEWEST_LEVELS, {release}: {max(stable)} in Kafka, {known_newest} in our table"


def _questions(facts: Facts, tables: Tables, is_newest: bool) -> Iterator[str]:
    """The properties of each level of metadata.version. Each line begins with the file to edit."""
    levels = _by_level(facts)
    answers = dict(tables.answers)
    if not is_newest:  # an older release may change an unstable level in any way
        levels = {level: row for level, row in levels.items() if row["isProduction"]}
    else:
        answers["isProduction"] = {level: level not in known.UNSTABLE for level in levels}
        for question in {question for row in levels.values() for question in row} - answers.keys():
            if question not in ("featureLevel", "version"):
                yield from _in(_KNOWN, _unknown_question(question, levels))
    for question, since in answers.items():
        place = _SNAPSHOT if question in SNAPSHOT_QUESTIONS else _KNOWN
        place = _RELEASES if question == CHANGES_QUESTION else place
        yield from _in(place, _answers(question, since, levels))


def _answers(
    question: str, since: Mapping[int, object], levels: Mapping[int, Mapping[str, Any]]
) -> Iterator[str]:
    said: dict[str, list[int]] = {}
    for level, row in levels.items():
        if level >= _OLDEST_LEVEL and question in row:
            at = max((first for first in since if first <= level), default=None)
            ours, kafka = False if at is None else since[at], row[question]
            if kafka != ours and not (at is None and kafka is None):
                said.setdefault(f"{kafka} in Kafka, {ours} in our tables", []).append(level)
    for text, found in said.items():
        yield f"metadata.version, {spelled('level', found)}: {question} is {text}"


def _unknown_question(question: str, levels: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    told, before = [], object()
    for level, row in levels.items():
        if row[question] != before:
            before = row[question]
            told.append(f"{before} from level {level} on")
    yield f"metadata.version: {question} is not in our tables: {', '.join(told)}"


def _features(facts: Facts, tables: Tables, is_newest: bool) -> Iterator[str]:
    for name, row in facts["features"].items():
        ours = tables.features.get(name)
        if ours is None:
            yield f"feature {name}: levels {row['oldest']} to {row['newest']}, not in our table"
        elif ours < row["newestStable"] or (is_newest and ours > row["newest"]):
            yield f"feature {name}: up to level {row['newestStable']} in Kafka, {ours} in our table"
    for name in tables.features.keys() - facts["features"].keys() if is_newest else ():
        yield f"feature {name}: in our table, and not in Kafka"


def _configs(facts: Facts, tables: Tables, is_newest: bool) -> Iterator[str]:
    for name, row in facts["configs"].items():
        is_raft = name.startswith(known.RAFT_CONFIGS)
        if is_raft and name not in tables.configs and name not in known.UNREAD:
            yield (
                f"config {name}: a replica does not read it, and it is not left out by choice "
                f"(UNREAD in tests/drift/known.py); default {row['default']}"
            )
        elif name in tables.configs and name not in known.OTHERWISE:
            kafka, ours = _as_text(row["default"]), tables.configs[name]
            if kafka != ours:
                yield f"config {name}: default {kafka!r} in Kafka, {ours!r} in ours"
    for name in tables.configs.keys() - facts["configs"].keys() if is_newest else ():
        if name not in known.OTHERWISE:
            yield f"config {name}: a replica reads it, and Kafka does not have it"


def _as_text(default: str | None) -> str:
    """The default as in a properties file; an empty list becomes no text."""
    return "" if default in (None, "[]") else default


def _passwords(facts: Facts, tables: Tables) -> Iterator[str]:
    for name, row in facts["configs"].items():
        if row["type"] == "PASSWORD" and not tables.is_secret(name):
            yield f"config {name}: a PASSWORD in Kafka, and no secret in ours: it would be shown"


def _known_configs(facts: Facts, tables: Tables) -> Iterator[str]:
    """The configs whose values may be shown."""
    plain = {name for name, row in facts["configs"].items() if row["type"] != "PASSWORD"}
    for name in sorted(plain.union(*facts["keptConfigs"].values()) - tables.known_configs):
        yield f"config {name}: Kafka knows it, and our table does not: it would be withheld"


def _known_settings(facts: Facts, tables: Tables) -> Iterator[str]:
    """The settings by which `check --config` judges a server.properties. A bound of kraftlake may
    be wider than a release's bound, but never narrower: a value that Kafka accepts is no fault."""
    first, second, *_ = (int(part) for part in facts["release"].split("."))
    for name, row in facts["configs"].items():
        kind = tables.settings(name, (first, second))
        if kind is None:
            yield f"setting {name}: Kafka knows it, and our table does not"
            continue
        if _TYPES.get(row["type"], Type.TEXT) not in (kind.type, *known.OLDER_TYPES.get(name, ())):
            yield f"setting {name}: {row['type']} in Kafka, {kind.type.name} in ours"
        found = _RANGE.match(row["bounds"])
        least = None if found is None else float(found[1])
        if kind.least is not None and (least is None or kind.least > least):
            yield f"setting {name}: Kafka takes {row['bounds']}, and ours begins at {kind.least}"
        if kind.choices and row["bounds"] != f"[{', '.join(kind.choices)}]":
            choices = ", ".join(kind.choices)
            yield f"setting {name}: Kafka takes {row['bounds']}, and ours is one of {choices}"


def _topic_configs(facts: Facts, tables: Tables, is_newest: bool) -> Iterator[str]:
    """A line for each topic config whose default, or whose broker configs, differ between our table
    and Kafka."""
    kafka = facts["topicConfigs"]
    ours = {one.name: one for one in tables.topic_configs}
    for name, row in kafka.items():
        if name not in ours:
            if is_newest and name not in known.UNLISTED_TOPIC_CONFIGS:
                yield f"config {name}: not in our table; Kafka has {row}"
            continue
        default = known.OLDER_TOPIC_DEFAULTS.get((facts["release"], name), ours[name].default)
        of_brokers = {one.name: str(one.factor) for one in ours[name].of_brokers}
        if row != {"default": default, "ofBrokers": of_brokers}:
            yield f"config {name}: Kafka has {row}, our table {ours[name]}"
    for name in sorted(ours.keys() - kafka) if is_newest else ():
        yield f"config {name}: in our table, and no config of Kafka's topics"


def _kept_configs(facts: Facts, tables: Tables) -> Iterator[str]:
    """The dynamic configs that, by our table, every release from 4.2 on keeps in its image."""
    for resource_type, kafka in facts["keptConfigs"].items():
        ours = tables.kept_configs.get(int(resource_type), frozenset())
        for name in sorted(ours - set(kafka)):
            yield f"config {name} of resource type {resource_type}: Kafka leaves it out, ours not"
