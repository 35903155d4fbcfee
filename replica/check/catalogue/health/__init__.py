"""Rules about the cluster that a replayed log describes: about its nodes and its partitions.

replica.health judges each of these rules.
"""

from __future__ import annotations

from replica.check.catalogue.health import nodes, partitions
from replica.check.rule import rules_of

RULES = rules_of(nodes, partitions)
