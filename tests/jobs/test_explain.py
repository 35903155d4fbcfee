"""`kraftlake explain`: every rule can be looked up."""

from __future__ import annotations

import pytest

from replica.doctor.check.catalogue import RULES
from tests.jobs.conftest import Kraftlake


@pytest.mark.slow
def test_every_rule_is_explained_with_what_to_do(kraftlake: Kraftlake) -> None:
    for rule in RULES:
        ended = kraftlake("explain", rule.id)
        assert ended.code == 0
        assert ended.lines[0] == f"{rule.id} ({rule.severity}, {rule.family})"
        assert f"Meaning:  {rule.meaning}" in ended.lines
        assert f"Next:     {rule.next_step}" in ended.lines


def test_without_a_rule_all_are_listed(kraftlake: Kraftlake) -> None:
    ended = kraftlake("explain")
    assert [line.split()[0] for line in ended.lines[2:]] == [rule.id for rule in RULES]
    rows = kraftlake("explain", "--json").rows
    assert [row["rule"] for row in rows] == [rule.id for rule in RULES]
    fields = "rule family severity meaning kafka next_step issues runbook"
    assert list(rows[0]) == fields.split()


def test_an_unknown_rule_gets_a_hint(kraftlake: Kraftlake) -> None:
    ended = kraftlake("explain", "torntail")
    assert ended.code == 2
    assert ended.error == "torntail: no rule of that name; did you mean torn-tail or torn-segment?"
    assert "`kraftlake explain` lists them" in kraftlake("explain", "xyzzy").error
