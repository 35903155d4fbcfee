"""The catalogue of scenarios: catalogue.toml as values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("catalogue.toml")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario. source: Kafka's test class; for group T the scenarios that it is about. A test
    shows a scenario unless it is not applicable or pending, for the given reason."""

    id: str
    source: str
    what: str
    not_applicable: str = ""
    pending: str = ""

    @property
    def is_due(self) -> bool:
        """Whether a test must show it."""
        return not (self.not_applicable or self.pending)


@dataclass(frozen=True, slots=True)
class Group:
    """A group. scenarios: in their order."""

    letter: str
    title: str
    scenarios: tuple[Scenario, ...]


Catalogue = Mapping[str, Group]


def catalogue() -> Catalogue:
    """The groups by letter."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {letter: _group(letter, entries) for letter, entries in found.items()}


def scenarios(groups: Catalogue) -> dict[str, Scenario]:
    """All scenarios by id."""
    return {scenario.id: scenario for group in groups.values() for scenario in group.scenarios}


def _group(letter: str, entries: dict[str, str | dict[str, str]]) -> Group:
    title = entries.pop("title")
    assert isinstance(title, str)
    return Group(letter, title, tuple(_scenario(i, e) for i, e in entries.items()))


def _scenario(scenario_id: str, entry: str | dict[str, str]) -> Scenario:
    assert isinstance(entry, dict)
    return Scenario(scenario_id, entry.pop("from"), **entry)
