"""Kafka's message language for records: from a table of fields to functions for bytes and JSON.

- `schema`: how a table is declared. `program`: one version of a table as a flat list of steps.
- `reader`, `writer`: bytes by a program. `json_text`, `plain_reader`: Kafka's JSON by a program.
- `primitives`: numbers, varints and uuids.

Metadata records (replica.metadata.records) and the control records of the Raft layer
(replica.format.control_records) are such tables. Requests and responses are not: replica.wire has a
language and a codec of its own. Requests have versions before KIP-482, nulls and fields that depend
on the version, and bodies that are sent without a copy, which records don't have. Records keep
unknown tagged fields and the exact bytes of odd encodings, which requests don't. On one core,
DescribeQuorum's response of 270 bytes is read in 21 us here and in 30 us there. It is written in 21
us here and in 18 us there, and a fetch of 1 MiB in 19 us here and in 2 us there. One reader for
both would need all these features, and must not decode logs more slowly.
"""
