"""A data file that is written and not committed yet.

NewFile has its own module, which loads no pyarrow: `simulate` runs its seeds by a runner, and works
in an installation that lacks pyarrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

Bound = int | str | datetime


@dataclass(frozen=True, slots=True)
class NewFile:
    """A closed file that no commit names yet."""

    name: str
    """The file's name in the table's folder."""
    size_bytes: int
    modified: int
    """The time at which the file was written, in ms since 1970."""
    row_count: int
    null_counts: Mapping[str, int]
    """The number of rows without a value, for each column."""
    bounds: Mapping[str, tuple[Bound, Bound]]
    """The least and the greatest value of each column for which they are known."""
