"""A real Kafka leaves configs that it doesn't know out of its snapshots; our doctor knows that."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from replica.admin.records import batch_of, record_of_value
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.raft.inputs import Proposal
from tests.interop.engine import running, settings_of
from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
STARTED = "Kafka Server started"
WITHIN_S = 90.0


def config(name: str) -> bytes:
    fields = {"resourceType": 32, "resourceName": "billing", "name": name, "value": "1"}
    return encode(new_record("CONFIG_RECORD", 0, fields))


def test_a_config_that_kafka_does_not_know_is_in_the_log_and_in_no_snapshot_of_kafka(
    tmp_path: Path,
) -> None:
    class_path_or_skip()
    (port,) = free_ports(1)
    often = {"metadata.log.max.record.bytes.between.snapshots": 100}
    kafka = Controller(tmp_path, 1, {1: port}, is_static=False, settings=often)
    kafka.format(CLUSTER_ID, "--standalone")
    with kafka:
        kafka.wait_for(STARTED)
    with running(settings_of(kafka)) as engine:
        names = "consumer.session.timeout.ms", "no.such.name"
        records = [record_of_value(config(name)) for name in names]
        engine.propose([Proposal(len(records), batch_of(records, engine.now_ms))])
        end = engine.host.raft.log.log_end
    with kafka:
        kafka.wait_for(STARTED)
        deadline = time.monotonic() + WITHIN_S
        while not _snapshots_above(kafka, end):
            assert time.monotonic() < deadline, "Kafka wrote no snapshot"
            time.sleep(0.2)
    checked = kraftlake("check", "--json", kafka.log_dir)
    lines = [json.loads(line) for line in checked.stdout.splitlines()]
    told = {(line["rule"], line["severity"], line["message"]) for line in lines if "rule" in line}
    assert checked.returncode == 0, checked.stdout
    assert ("configs-left-out", "info", "1 config of the log left out") in told


def _snapshots_above(kafka: Controller, end_offset: int) -> list[Path]:
    return [p for p in kafka.partition.glob("*.checkpoint") if int(p.name[:20]) >= end_offset]
