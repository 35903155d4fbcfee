"""The number of examples of a property test: few in `make test`, all in `make
test-all` and in CI."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
"""The profile: `quick`, `ci` (all examples, the same each time) or `dev` (more of them, new each
time)."""


def examples(most: int, least: int = 5) -> int:
    """The number of examples, or of seeds, of a test that tries `most` of them when there is time,
    and `least` in any case."""
    return max(least, most // 10) if PROFILE == "quick" else most
