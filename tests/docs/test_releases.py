"""Pages and docstrings that name the newest release of Kafka name the same one."""

from __future__ import annotations

import re

import pytest

from replica.metadata.records import NEWEST_KAFKA
from tests.docs.pages import ROOT
from tests.interop.kafka_jars import NEWEST

SPANS = re.compile(r"\b3\.\d to (\d+\.\d+)")
"""Such as 3.7 to 4.4: what kraftlake reads, or whose configs it knows."""


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/README.md",
        "docs/reference/kafka-releases.md",
        "docs/reference/security-in-detail.md",
        "replica/metadata/known_configs.py",
        "replica/metadata/redact.py",
    ],
)
def test_a_page_names_the_newest_release_of_kafka_that_kraftlake_reads(page: str) -> None:
    assert set(SPANS.findall((ROOT / page).read_text(encoding="utf-8"))) == {NEWEST_KAFKA}


def test_tests_run_against_the_newest_release_that_kraftlake_reads() -> None:
    assert NEWEST.startswith(f"{NEWEST_KAFKA}.")


def test_kafka_drift_compares_with_the_newest_release_where_none_is_named() -> None:
    (named,) = re.findall(r"^KAFKA := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert named == NEWEST
