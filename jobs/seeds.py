"""--seeds A:B, as commands that simulate take it."""

from __future__ import annotations

import re

from replica.errors import UsageError


def seeds_in(text: str) -> range:
    """The seeds from A to B - 1; UsageError where there are none."""
    found = re.fullmatch(r"(\d{1,18}):(\d{1,18})", text, re.ASCII)
    if found is None or int(found[1]) >= int(found[2]):
        raise UsageError(f"--seeds {text}: expected A:B with A below B, such as 0:200")
    return range(int(found[1]), int(found[2]))
