"""A data file that is written and not committed yet.

It has a module of its own, which loads no pyarrow: `simulate` runs its seeds by a runner, and works
in an installation that lacks pyarrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

Bound = int | str | datetime


@dataclass(frozen=True, slots=True)
class NewFile:
    """A closed file that no commit names yet.

    name: its name in the table's folder. modified: ms since the epoch. null_counts: the number of
    rows without a value, for each column. bounds: the least and the greatest value of each column
    for which they are known.
    """

    name: str
    size_bytes: int
    modified: int
    row_count: int
    null_counts: Mapping[str, int]
    bounds: Mapping[str, tuple[Bound, Bound]]
