"""How bad something is that a check, a quality gate or a question to a quorum found."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """The values are those of gold.findings.severity."""

    INFO = "info"
    """Not a fault: a running node, a known quirk of Kafka, a fact worth knowing."""
    WARNING = "warning"
    """Kafka copes, or nobody can tell yet; somebody should look."""
    ERROR = "error"
    """Kafka refuses to go on with it, or loses data by it."""

    @property
    def rank(self) -> int:
        """0 for the worst, to sort by."""
        return tuple(reversed(Severity)).index(self)
