"""Writes tests/golden/metadata_json.jsonl: what real Kafka prints for chosen record values.

    python -m tests.replica.metadata.record_golden KAFKA_LIBS_DIR

KAFKA_LIBS_DIR holds the jars of org.apache.kafka:kafka_2.13 and of kafka-tools 4.3 or newer. This
is no test, and no test runs it, because it needs Java and Kafka. The values are from the recorded
log of all types. Types newer than that log are added, and edge cases of Java's number format and of
Jackson's string format.
"""

from __future__ import annotations

import base64
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from replica.format.record import Record, encode_records, records_of
from replica.format.segment import scan
from replica.message.primitives import uuid_text
from replica.message.schema import Value
from replica.metadata.codec import decode, encode
from replica.metadata.json_text import json_text
from replica.metadata.record import new_record
from replica.model.keys import ZERO_UUID
from tests.replica.format.encoded import encode_batch

TESTS = Path(__file__).parents[2]
MARK = " payload: "
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
DOUBLES = (
    0.0, -0.0, 1.0, 0.1, 100.5, 0.001, 0.00099, 9999999.0, 1e7, 12345678.9, 1.5e300, 1e21, 2.5e-10,
    5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, math.pi, -1234.5678, 1048576.0,
    math.nan, math.inf, -math.inf,
)  # fmt: skip
TEXTS = (
    "".join(map(chr, range(0x20))),
    "\"\\/'<>&\x7f\x80\x9f",
    "\u2028\u2029\ufeff\u00e9\u65e5\U0001f600\uffff",
    "x" * 200,
)


def chosen_values() -> Iterator[bytes]:
    """The shortest and the longest (but not huge) value of each type and version, and edge
    cases."""
    data = (TESTS / "data/generated-all-types/00000000000000000000.log").read_bytes()
    by_type = defaultdict(set)
    for batch in scan(data).batches:
        if not batch.header.is_control:
            for record in records_of(batch.header, data[batch.position :]):
                value = record.value or b""
                by_type[value[:3]].add(value)
    for _, values in sorted(by_type.items()):
        ordered = sorted(values, key=lambda value: (len(value), value))
        yield ordered[0]
        yield next(value for value in reversed(ordered) if len(value) < 500)
    for number in DOUBLES:
        entity: tuple[Value, ...] = ({"entityType": "user", "entityName": None},)
        fields: dict[str, Value] = {"entity": entity, "key": "producer_byte_rate", "value": number}
        yield encode(new_record("CLIENT_QUOTA_RECORD", 0, fields))
    for text in TEXTS:
        yield encode(new_record("CONFIG_RECORD", 0, {"name": "retention.ms", "value": text}))
    yield from _newer_than_the_generated_log()


def _newer_than_the_generated_log() -> Iterator[bytes]:
    """Records of types and versions newer than Kafka 4.1. Classes of 4.1 wrote the
    generated log."""
    directory = uuid_text(b"directory-one...")
    unknown = (((), ((99, b"kept"),)),)
    lists: tuple[tuple[str, ...] | None, ...] = (None, (), (directory, ZERO_UUID))
    for cordoned in lists:
        fields: dict[str, Value] = {"brokerId": 7, "brokerEpoch": 2**40}
        for name, version in (
            ("REGISTER_BROKER_RECORD", 4),
            ("BROKER_REGISTRATION_CHANGE_RECORD", 3),
        ):
            record = new_record(
                name, version, {**fields, "logDirs": (directory,), "cordonedLogDirs": cordoned}
            )
            yield encode(record)
            yield encode(replace(record, unknown_tags=unknown))
    for controller in (0, 3, -1, 2**31 - 1):
        yield encode(new_record("UNREGISTER_CONTROLLER_RECORD", 0, {"controllerId": controller}))


def kafka_payloads(values: list[bytes], libs: str) -> list[str]:
    """The payload text of each value, printed by DumpLogSegments."""
    entries = [Record(i, 0, None, value) for i, value in enumerate(values)]
    batch = encode_batch(
        base_offset=0,
        leader_epoch=1,
        records=encode_records(entries, 0, 0),
        record_count=len(values),
        last_offset_delta=len(values) - 1,
        base_timestamp=0,
        max_timestamp=0,
    )
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "00000000000000000000.log"
        log.write_bytes(batch)
        tool = ["java", "-Dfile.encoding=UTF-8", "-cp", f"{libs}/*", DUMP_LOG]
        flags = ["--cluster-metadata-decoder", "--print-data-log", "--files", str(log)]
        # On the class path of 4.4.0 the tools of 4.3.1 fail when they close the file, after they
        # have printed every record; main compares the counts.
        run = subprocess.run([*tool, *flags], check=False, capture_output=True)
    lines = run.stdout.decode("utf-8").split("\n")
    return [line.partition(MARK)[2] for line in lines if MARK in line]


def main() -> None:
    values = list(chosen_values())
    payloads = kafka_payloads(values, sys.argv[1])
    assert len(payloads) == len(values)
    version = next(Path(sys.argv[1]).glob("kafka_2.13-*.jar")).stem.removeprefix("kafka_2.13-")
    provenance = {
        "provenance": f"org.apache.kafka.tools.DumpLogSegments on Kafka {version} on Java 17, by "
        "tests/replica/metadata/record_golden.py; value: the record's bytes, payload: the text"
    }
    rows = [
        {"value": base64.b64encode(value).decode(), "payload": payload}
        for value, payload in zip(values, payloads, strict=True)
    ]
    text = "".join(json.dumps(row) + "\n" for row in [provenance, *rows])
    (TESTS / "golden/metadata_json.jsonl").write_text(text, encoding="utf-8")
    for value, payload in zip(values, payloads, strict=True):
        if f'"data":{json_text(decode(value))}}}' not in payload:
            sys.stderr.write(f"differs: {payload}\n{json_text(decode(value))}\n")


if __name__ == "__main__":
    main()
