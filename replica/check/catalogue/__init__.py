"""Every rule, as data: about the log, snapshots, the files beside them, groups, and health."""

from __future__ import annotations

from replica.check.catalogue import files, groups, health, log, snapshots
from replica.check.rule import Rule

RULES: tuple[Rule, ...] = (
    *log.RULES, *snapshots.RULES, *files.RULES, *groups.RULES,
    *health.RULES,
)  # fmt: skip
"""In the order in which they are explained."""

RULES_BY_ID = {rule.id: rule for rule in RULES}
