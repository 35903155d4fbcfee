"""Which engine runs a job's stages."""

from __future__ import annotations

import os
from enum import StrEnum

from replica.errors import UsageError

VARIABLE = "KRAFTLAKE_ENGINE"


class Engine(StrEnum):
    """The engines by the values of --engine."""

    SPARK = "spark"
    LOCAL = "local"


def is_submitted() -> bool:
    """True where spark-submit started this process, and waits for this process to connect to its
    JVM."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def chosen_engine(option: str | None) -> Engine:
    """The engine that the option names, else the engine that the variable KRAFTLAKE_ENGINE names;
    else Spark where spark-submit started the job, and the local engine elsewhere. Raises UsageError
    for a name that is no engine's."""
    for place, name in (("--engine", option), (VARIABLE, os.environ.get(VARIABLE))):
        if name:
            try:
                return Engine(name)
            except ValueError:
                known = " or ".join(Engine)
                raise UsageError(f"{place} {name}: no such engine: {known}") from None
    return Engine.SPARK if is_submitted() else Engine.LOCAL
