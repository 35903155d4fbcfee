"""Contradictions that are known and not mended yet: of each rule that is broken a cluster that
shows it, and what is wrong. Who mends one takes it out here: its test then succeeds, and so it
fails (strict)."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """cluster: a scenario's name, or seed-N, seed-N-left or seed-N-old."""

    cluster: str
    reason: str


KNOWN: dict[str, Known] = {
    "no_cause_of_an_election_is_untrue": Known(
        "seed-16", "a leader that was killed and came back to vote is said to have resigned"
    ),
}
