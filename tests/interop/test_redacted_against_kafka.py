"""Copies without secrets: Kafka's own kafka-dump-log reads them, to the last record."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.kafka_dump import dumped, kafka_dump, unexpected
from tests.interop.kafka_jars import class_path_or_skip
from tests.kraftlake_process import kraftlake

CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic", "kafka-4.4.0-dynamic")
OPTIONS = ("--cluster-metadata-decoder", "--print-data-log", "--deep-iteration")


@pytest.mark.slow
@pytest.mark.parametrize("capture", ["live", "split", "final"])
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_kafka_dump_log_reads_every_record_of_a_copy(
    data: Path, tmp_path: Path, cluster: str, capture: str
) -> None:
    class_path_or_skip()
    source = data / cluster / capture
    ran = kraftlake("redact", "--names", str(source), "-o", str(tmp_path / "copy"))
    assert ran.returncode == 0, ran.stderr
    logs = [
        path.relative_to(source)
        for pattern in ("*.log", "*.checkpoint", "*.index")
        for path in sorted(source.rglob(pattern))
    ]
    before = kafka_dump([source / path for path in logs], *OPTIONS)
    after = kafka_dump([tmp_path / "copy" / f"node-{path}" for path in logs], *OPTIONS)
    assert unexpected(after) == unexpected(before) == ""
    places = [(offset, time) for offset, time, _ in dumped(before.stdout)]
    assert [(offset, time) for offset, time, _ in dumped(after.stdout)] == places
    assert "isvalid: true" in after.stdout
    assert "isvalid: false" not in after.stdout
    assert "topic-" in after.stdout
