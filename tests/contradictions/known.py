"""Contradictions that are known and not mended yet: the rule's name, and what is wrong. Who mends
one takes it out here, because its test then succeeds, which fails (strict)."""

from __future__ import annotations

KNOWN: dict[str, str] = {
    "nothing_is_safe_where_check_says_to_start_neither": "rehearse judges its runs alone, and says "
    "safe of logs in conflict (lost-disks)",
    "rehearse_is_not_safe_where_recover_refuses": "the same",
    "nobody_leads_in_the_runs_whom_the_plan_lets_not_win": "recover lets one of several "
    "logs win where any of them may",
}
