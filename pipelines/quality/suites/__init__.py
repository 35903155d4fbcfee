"""A suite for each table of the lake."""

from __future__ import annotations

from pipelines.quality.expectation import Suite
from pipelines.quality.suites.bronze import BRONZE
from pipelines.quality.suites.gold import GOLD
from pipelines.quality.suites.quorum import QUORUM
from pipelines.quality.suites.silver import SILVER

SUITES: dict[str, Suite] = {suite.name: suite for suite in (*BRONZE, *SILVER, *GOLD, *QUORUM)}
"""By table name, in the order in which a build judges them: what a suite reads comes before it,
or is read as it is."""
