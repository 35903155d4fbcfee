"""Kafka's controllers recorded anew, and judged at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.conformance.exchanges import load
from tests.interop.conformance.page import judge
from tests.interop.conformance.recording import (
    Voters,
    record_faults,
    record_features,
    record_probes,
)
from tests.interop.kafka_jars import class_path_or_skip

pytestmark = pytest.mark.slow


def test_kafka_answers_under_faults_as_the_core_allows(tmp_path: Path) -> None:
    class_path_or_skip()
    trace = tmp_path / "trace.jsonl.gz"
    record_faults(tmp_path, trace, Voters(3), range(3), within_s=120.0)
    found = judge("faults", load(trace), are_rules_kept=True)
    assert not found.differing, found.differing[:3]
    assert found.counts.total() > 100


def test_kafka_answers_probes_as_the_core_allows(tmp_path: Path) -> None:
    class_path_or_skip()
    trace = tmp_path / "trace.jsonl.gz"
    record_probes(tmp_path, trace, Voters(3))
    found = judge("probes", load(trace), are_rules_kept=False)
    assert not found.differing, found.differing[:3]
    assert found.ended


def test_kafka_answers_about_kraft_version_as_the_core_allows(tmp_path: Path) -> None:
    class_path_or_skip()
    trace = tmp_path / "trace.jsonl.gz"
    record_features(tmp_path, trace, Voters(3, are_static=True))
    found = judge("kraft.version", load(trace), are_rules_kept=False)
    assert not found.differing, found.differing[:3]
    assert sum(n for (api, _), n in found.counts.items() if api == "UpdateFeatures") > 20
