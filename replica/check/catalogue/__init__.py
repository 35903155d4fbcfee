"""All rules as values: those about the log, snapshots, the files beside them, groups, and
health."""

from __future__ import annotations

from replica.check.catalogue import files, groups, health, log, snapshots
from replica.check.rule import Rule, rules_of

RULES: tuple[Rule, ...] = (*rules_of(log, snapshots, files, groups), *health.RULES)
"""All rules, in the order in which they are explained."""

RULES_BY_ID = {rule.id: rule for rule in RULES}
