"""All rules as values: rules about the log, about snapshots, about the files beside them, about
groups of directories, about the start of nodes, and about health."""

from __future__ import annotations

from replica.doctor.check.catalogue import (
    files,
    groups,
    health,
    log,
    partition_folders,
    snapshots,
    startup,
)
from replica.doctor.check.rule import rules_of

HEALTH_RULES = rules_of(health, partition_folders)
RULES = (*rules_of(log, snapshots, files, groups, startup), *HEALTH_RULES)
"""All rules, in the order in which they are explained."""

RULES_BY_ID = {rule.id: rule for rule in RULES}
