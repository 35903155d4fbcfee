"""The table of the control records of metadata logs and snapshots (Kafka: LeaderChangeMessage,
SnapshotHeaderRecord, SnapshotFooterRecord, KRaftVersionRecord, VotersRecord; KIP-595, KIP-630,
KIP-853). The first field of each record is its version."""

from __future__ import annotations

from replica.message.program import Program, compile_program
from replica.message.schema import Field, RecordSchema, declare, record

_VERSION = declare("version", "int16")


def _leader_voters(name: str) -> Field:
    return declare(
        name,
        "[]struct",
        declare("voterId", "int32"),
        declare("voterDirectoryId", "uuid", since=1),
    )


CONTROL_RECORDS: tuple[RecordSchema, ...] = (
    record(
        "LEADER_CHANGE",
        _VERSION,
        declare("leaderId", "int32"),
        _leader_voters("voters"),
        _leader_voters("grantingVoters"),
        api_key=2,
        newest=1,
    ),
    record(
        "SNAPSHOT_HEADER",
        _VERSION,
        declare("lastContainedLogTimestamp", "int64"),
        api_key=3,
    ),
    record("SNAPSHOT_FOOTER", _VERSION, api_key=4),
    record("KRAFT_VERSION", _VERSION, declare("kRaftVersion", "int16"), api_key=5),
    record(
        "KRAFT_VOTERS",
        _VERSION,
        declare(
            "voters",
            "[]struct",
            declare("voterId", "int32"),
            declare("voterDirectoryId", "uuid"),
            declare(
                "endpoints",
                "[]struct",
                declare("name", "string"),
                declare("host", "string"),
                declare("port", "uint16"),
            ),
            declare(
                "kRaftVersionFeature",
                "struct",
                declare("minSupportedVersion", "int16"),
                declare("maxSupportedVersion", "int16"),
            ),
        ),
        api_key=6,
    ),
)

CONTROL_PROGRAMS: dict[tuple[int, int], Program] = {
    (schema.api_key, version): compile_program(schema, version)
    for schema in CONTROL_RECORDS
    for version in schema.versions
}
"""(control record type, version) -> the program of its fields."""
