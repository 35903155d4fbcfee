"""The catalogue is whole: every rule is named well, and every rule is found by some test."""

from __future__ import annotations

import re
from pathlib import Path

from replica.doctor.check.catalogue import RULES, RULES_BY_ID

_FOLDERS = [
    *(Path(__file__).parents[1] / name for name in ("check", "health", "startup")),
    Path(__file__).parents[3] / "jobs",
]
_TESTS = sorted(path for folder in _FOLDERS for path in folder.glob("test_*.py"))
_ISSUE = re.compile(r"KAFKA-\d+|KIP-\d+|[\w.-]+/[\w.-]+#\d+")


def test_ids_are_kebab_case_and_unique() -> None:
    assert len(RULES_BY_ID) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id), rule.id


def test_each_rule_says_everything_in_sentences() -> None:
    for rule in RULES:
        for text in (rule.meaning, rule.kafka, rule.next_step):
            assert text.endswith("."), (rule.id, text)
            assert "\n" not in text
            assert len(text) <= 260, (rule.id, text)


def test_issues_are_keys_that_can_be_looked_up() -> None:
    for rule in RULES:
        for issue in rule.issues:
            assert _ISSUE.fullmatch(issue), (rule.id, issue)


def test_every_rule_is_expected_by_a_test() -> None:
    texts = [path.read_text() for path in _TESTS if path.name != Path(__file__).name]
    untested = [rule.id for rule in RULES if not any(f'"{rule.id}"' in text for text in texts)]
    assert untested == []
