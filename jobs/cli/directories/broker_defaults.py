"""The settings in a broker's server.properties, which no metadata log contains."""

from __future__ import annotations

from collections.abc import Mapping

from replica.doctor.health.min_isrs import MIN_ISR
from replica.node.properties import read_properties


def defaults_in(path: str | None) -> Mapping[str, str]:
    """The values that rules of health need, by key: min.insync.replicas, with Kafka's default where
    the file lacks it. Empty without a file. Raises UsageError, which names file, key and value."""
    if path is None:
        return {}
    return {MIN_ISR: str(read_properties(path).number(MIN_ISR, 1, least=1))}
