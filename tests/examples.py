"""How many examples a property test tries: few in `make test`, all in `make test-all` and in CI's
second look."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
"""`quick`, `ci` (all examples, the same each time) or `dev` (more of them, new each time)."""


def examples(most: int) -> int:
    """The number of examples of a property test that tries `most` of them when there is time."""
    return max(5, most // 4) if PROFILE == "quick" else most
