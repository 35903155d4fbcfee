"""A statement of the report about the logs and files of a cluster's replicas."""

from __future__ import annotations

from dataclasses import dataclass

from replica.doctor.verdict.verdict import Level


@dataclass(frozen=True)
class Clause:
    """One statement of the verdict, with the level that it asks for."""

    level: Level
    text: str
    """A clause that begins with a small letter, and ends without a full stop."""
