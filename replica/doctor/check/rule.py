"""Defines rules and findings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from types import ModuleType
from typing import NamedTuple

from replica.severity import Severity


class Family(StrEnum):
    """The subject of a rule. The values are part of the output of `check --json`."""

    FILES = "files"
    """The files of a replica, or the logs of several replicas: whether they are valid."""
    HEALTH = "health"
    """The cluster that the replayed log describes: its faults and risks."""


class Subject(NamedTuple):
    """A part of a cluster, such as a partition or a broker, that a finding is about."""

    name: str
    """The name of the partition, node, directory, feature or config."""
    what: str
    """One line that says why the rule holds for the subject."""
    offset: int | None = None
    """The offset of the record that shows why the rule holds; None if no record shows it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A named condition of a metadata directory, or of a cluster, that a check finds."""

    id: str
    """Words with hyphens. An id is never used for another rule."""
    meaning: str
    """The condition, in a sentence: what is true of the directory or the cluster for which this
    rule makes a finding."""
    kafka: str
    """What Kafka does in this condition. The text begins with the verb."""
    next_step: str
    """What a person should do now."""
    issues: tuple[str, ...] = ()
    """Incidents that the rule would have found, written as `KAFKA-14238` or
    `owner/repository#120`."""
    severity: Severity = field(kw_only=True)
    family: Family = field(default=Family.FILES, kw_only=True)
    keeps_from_starting: bool = field(default=False, kw_only=True)
    """Whether the node refuses to start with the directories that the finding is about."""

    def at(
        self,
        file: str,
        message: str,
        *,
        position: int | None = None,
        offset: int | None = None,
        epoch: int | None = None,
        node: int | None = None,
    ) -> Finding:
        """A finding of this rule at a place. The arguments are the fields of the finding."""
        return Finding(self, file, message, position, offset, epoch, node=node)


error = partial(Rule, severity=Severity.ERROR)
warning = partial(Rule, severity=Severity.WARNING)
info = partial(Rule, severity=Severity.INFO)


@dataclass(frozen=True, slots=True)
class Finding:
    """One place in files, or one state of a cluster, to which a rule applies."""

    rule: Rule
    file: str
    """The path relative to the node's log directory, with '/' between its parts. Findings about a
    group have the path as the user would write it. "" for the directory as a whole."""
    message: str
    """One line that says what was found."""
    position: int | None = None
    """The byte in the file at which the batch, line or entry begins; None if there is none."""
    offset: int | None = None
    """The offset in the log that the finding is about; None if it is about no offset."""
    epoch: int | None = None
    """The epoch that the finding is about; None if it is about no epoch."""
    subjects: tuple[Subject, ...] = ()
    """All subjects for which a rule of health holds."""
    node: int | None = None
    """The id of the node that the finding is about, if its file isn't in a directory with a log;
    else None."""

    @property
    def where(self) -> str:
        """The place of a finding that isn't about a directory with a log: a node, else its file."""
        return self.file if self.node is None else f"node {self.node}"

    @property
    def severity(self) -> Severity:
        return self.rule.severity

    def in_file(self, file: str) -> Finding:
        """The same finding, with another name of its file."""
        return replace(self, file=file)


def rules_of(*modules: ModuleType) -> tuple[Rule, ...]:
    """The rules that the modules declare, in the order of their declarations."""
    return tuple(
        value for module in modules for value in vars(module).values() if isinstance(value, Rule)
    )


def by_severity(finding: Finding) -> tuple[int, str, int, str]:
    """The sort key of findings: the worst first, then by file and byte."""
    position = -1 if finding.position is None else finding.position
    return finding.severity.rank, finding.file, position, finding.rule.id
