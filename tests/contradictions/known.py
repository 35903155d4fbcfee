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
    "nothing_is_safe_where_check_says_to_start_neither": Known(
        "lost-disks", "rehearse judges its runs alone"
    ),
    "rehearse_is_not_safe_where_recover_refuses": Known(
        "lost-disks", "rehearse judges its runs alone"
    ),
    "the_runs_of_a_plan_are_not_safer_than_the_plan": Known(
        "seed-0-left", "recover --rehearse ends with safe where voters are lost"
    ),
    "nobody_leads_in_the_runs_whom_the_plan_lets_not_win": Known(
        "clean-failover", "recover lets one of several logs win where any of them may"
    ),
    "no_stop_is_safe_that_leaves_no_majority_of_unfenced_voters": Known(
        "seed-50", "plan counts every voter as alive"
    ),
    "no_cause_of_an_election_is_untrue": Known(
        "seed-16", "a leader that was killed and came back to vote is said to have resigned"
    ),
    "no_node_is_sound_that_fails_in_every_run": Known(
        "seed-12-old", "a voter with an older copy of its disk is sound by check"
    ),
    "a_plan_that_is_safe_is_never_unsafe_in_its_runs": Known(
        "seed-13-old", "a voter with an older copy of its disk counts for a majority"
    ),
}
