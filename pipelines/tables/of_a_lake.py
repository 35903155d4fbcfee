"""All tables that a lake may hold, by layer."""

from __future__ import annotations

from pipelines.tables.bronze import BRONZE, LAKE_VERSIONS
from pipelines.tables.gold import GOLD, QUALITY
from pipelines.tables.silver import SILVER

DERIVED = (*SILVER, *GOLD, *QUALITY)
"""The tables that `build` makes from bronze."""
TABLES = (*BRONZE, LAKE_VERSIONS, *DERIVED)
