"""The severity of a finding of a check, a quality gate or a question to a quorum."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """The severity of a finding. The values stand in the column gold.findings.severity."""

    INFO = "info"
    """Not a fault: a running node, a known quirk of Kafka, a fact worth knowing."""
    WARNING = "warning"
    """A state with which Kafka can work, or whose effect is unknown. Somebody should check this
    state."""
    ERROR = "error"
    """A state with which Kafka can't continue, or because of which Kafka loses data."""

    @property
    def rank(self) -> int:
        """The sort key: 0 for the worst severity."""
        return tuple(reversed(Severity)).index(self)
