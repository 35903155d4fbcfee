"""Rules about the cluster that a replayed log describes: its nodes, and its partitions.

How each is judged: replica.health.
"""

from __future__ import annotations

from replica.check.catalogue.health import nodes, partitions
from replica.check.rule import rules_of

RULES = rules_of(nodes, partitions)
