"""`kraftlake state --effective`: the configs in force for a topic, a broker or a group, the source
of each, and since when."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobs.cli.asking.about import About, AskedCluster, KnownNames
from jobs.cli.asking.entities import entities_at
from jobs.cli.asking.query_result import QueryResult, write_answer
from jobs.cli.commands.asking import StateOptions
from jobs.cli.commands.combinations import form_of
from jobs.cli.output import complain, ms_text
from jobs.cli.redacting import make_redactor
from replica.doctor.timeline.state import StateEntity
from replica.metadata.effective_configs import (
    KAFKA,
    EffectiveConfig,
    Setting,
    Settings,
    of_broker,
    of_group,
    of_topic,
    settings_of,
)
from replica.metadata.redact import is_secret_config
from replica.node.properties import read_properties
from replica.words import up_to

COLUMNS = ("config", "value", "source", "set_as", "offset", "since", "instead_of")
_HIDDEN = "***"


def run(asked: AskedCluster, options: StateOptions) -> int:
    """Prints the configs in force. Returns 0. Raises KraftlakeError."""
    file = _in_file(options.broker_config)
    end_offset, held = entities_at(asked, make_redactor(False, options.redact_key))
    entities = [*held]
    About(topic=options.topic, broker=options.broker).refuse_unknown(_names(entities))
    found = [*_effective(options, settings_of(_configs(entities), file))]
    found.sort(key=lambda one: one.source == KAFKA)  # configs that a user has set come first
    complain(f"state: {up_to(end_offset)}")
    if not found:
        complain("state: nothing is set: Kafka's defaults hold")
    elif options.topic is None:
        complain("state: a config that is not listed has Kafka's default")
    if options.broker_config is None:
        complain(
            "state: the log does not show what a broker's server.properties sets: "
            "--broker-config FILE adds it"
        )
    form = form_of(options.json_output, options.csv, options.plain_csv)
    write_answer(QueryResult(COLUMNS, (_row(one, is_json=form == "json") for one in found)), form)
    return 0


def _effective(options: StateOptions, settings: Settings) -> Iterator[EffectiveConfig]:
    if options.topic is not None:
        return of_topic(options.topic, settings)
    if options.broker is not None:
        return of_broker(options.broker, settings)
    assert options.group is not None, "the options name one of the three"
    return of_group(options.group, settings)


def _in_file(path: str | None) -> Mapping[str, str]:
    """The values in a server.properties, by name, with _HIDDEN in place of secret values; empty
    where `path` is None. Raises UsageError."""
    values = {} if path is None else read_properties(path).values()
    return {
        name: _HIDDEN if is_secret_config(name) else value.strip() for name, value in values.items()
    }


def _names(entities: Iterable[StateEntity]) -> KnownNames:
    known = KnownNames()
    for one in entities:
        if one.entity in ("topic", "broker"):
            known.add(one.entity, one.name)
    return known


def _configs(entities: Iterable[StateEntity]) -> Iterator[tuple[int, str, str, Setting]]:
    for one in entities:
        if one.entity == "config":
            held = json.loads(one.value)
            setting = Setting(held["value"], one.offset, one.at)
            yield held["resourceType"], held["resourceName"], held["name"], setting


def _row(one: EffectiveConfig, *, is_json: bool) -> Sequence[Any]:
    since = one.at if is_json or one.at is None else ms_text(one.at)
    instead_of = list(one.instead_of) if is_json else "; ".join(one.instead_of)
    return one.name, one.value, one.source, one.set_as, one.offset, since, instead_of
