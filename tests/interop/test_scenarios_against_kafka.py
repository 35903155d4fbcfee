"""Scenarios of the simulator before Kafka's dump tool: ordinary logs and snapshots to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replica.simulate.scenarios.library import SCENARIOS
from replica.simulate.scenarios.writing import write_capture
from tests.interop.kafka_dump import dumped, kafka_dump
from tests.interop.kafka_jars import class_path_or_skip
from tests.kraftlake_process import kraftlake


@pytest.mark.slow
def test_kafka_dump_log_reads_what_our_dump_reads_of_every_untampered_scenario(
    tmp_path: Path,
) -> None:
    class_path_or_skip()
    for scenario in SCENARIOS:
        if scenario.tampering is None and "torn-tail" not in scenario.findings:
            write_capture(scenario.capture(), str(tmp_path / scenario.name))
    files = sorted(p for p in tmp_path.rglob("*") if p.suffix in (".log", ".checkpoint"))
    assert len(files) > 100
    ran = kafka_dump(files, "--cluster-metadata-decoder", "--print-data-log")
    assert ran.returncode == 0, ran.stderr
    for complaint in ("isvalid: false", "Exception", "Error at", "secutive"):
        assert complaint not in ran.stdout
    theirs = list(dumped(ran.stdout))
    ours = kraftlake("dump", "--json", "--keep-secrets", *files)
    assert (ours.returncode, ours.stderr) == (0, "")
    rows = [json.loads(line) for line in ours.stdout.splitlines()]
    assert len(rows) > 2000
    assert [(row["offset"], row["timestamp"], row["data"]) for row in rows] == theirs
