"""docs/reference/the-lake.md says which rules of check a lake lacks: by what the code can make."""

from __future__ import annotations

import re

from replica.doctor.check.catalogue import RULES_BY_ID, partition_folders, startup
from replica.doctor.check.rule import rules_of
from tests.docs.made_findings import ROOT, rules_of_a_lake
from tests.markdown import cells_of

PAGE, HEADING = "docs/reference/the-lake.md", "## What `check` finds and a lake doesn't"
GROUPS = {
    "those of `check --config`": {one.id for one in rules_of(startup)},
    "those of `check --partitions`": {one.id for one in rules_of(partition_folders)},
}
"""How the page names the rules of an option of check; it may name exceptions behind `but for`."""


def told() -> set[str]:
    """The ids that the page's table names."""
    section = (ROOT / PAGE).read_text().split(HEADING)[1].split("\n## ")[0]
    found: set[str] = set()
    for line in section.splitlines():
        if not line.startswith("| ") or line.startswith("| rules "):
            continue
        cell = cells_of(line)[0]
        group = next((ids for words, ids in GROUPS.items() if cell.startswith(words)), None)
        named = {one for one in re.findall("`([^`]+)`", cell) if not one.startswith("check ")}
        assert named <= RULES_BY_ID.keys() | {"--broker-config"}, line
        found |= named if group is None else group - named
    return found


def test_each_rule_that_a_lake_cannot_find_is_told_with_the_reason() -> None:
    assert RULES_BY_ID.keys() - rules_of_a_lake() - told() == set()


def test_the_code_of_a_lake_reaches_the_rules_of_directories_of_groups_and_of_health() -> None:
    """So that the rule above doesn't hold because nothing, or everything, is reached."""
    reached = rules_of_a_lake()
    assert {
        "crc-mismatch",
        "snapshot-content",
        "stale-voter",
        "two-leaders",
        "few-voters",
    } <= reached
    assert not reached & {"group-too-large", "setting-unknown", "stray-partition"}
