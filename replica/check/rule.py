"""What a rule and a finding are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.severity import Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """A state of a metadata directory that has a name.

    id: kebab-case, never reused. meaning: what is so. kafka: what Kafka does about it. next_step:
    what a person does now. issues: incidents that it would have caught, as `KAFKA-14238` or
    `owner/repository#120`.
    """

    id: str
    severity: Severity
    meaning: str
    kafka: str
    next_step: str
    issues: tuple[str, ...] = ()

    def at(
        self,
        file: str,
        message: str,
        *,
        position: int | None = None,
        offset: int | None = None,
        epoch: int | None = None,
    ) -> Finding:
        """A finding of this rule."""
        return Finding(self, file, message, position, offset, epoch)


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule holds.

    file: relative to the node's log directory, '/' between parts; a group's findings name it as
    the user would. "" for the directory as a whole. message: one line, what was found there.
    position: byte of the batch, line or entry in the file, None where there is none.
    offset, epoch: of the log, None where the finding has none.
    """

    rule: Rule
    file: str
    message: str
    position: int | None = None
    offset: int | None = None
    epoch: int | None = None

    @property
    def severity(self) -> Severity:
        return self.rule.severity

    def in_file(self, file: str) -> Finding:
        """The same finding with its file named otherwise."""
        return replace(self, file=file)


def by_severity(finding: Finding) -> tuple[int, str, int, str]:
    """Sorts findings: the worst first, then by file and byte."""
    position = -1 if finding.position is None else finding.position
    return finding.severity.rank, finding.file, position, finding.rule.id
