"""Kafka's message language for records: from a table of fields to functions for bytes and JSON.

- `schema`: how a table is declared. `program`: one version of a table as a flat list of steps.
- `reader`, `writer`: bytes by a program. `json_text`, `plain_reader`: Kafka's JSON by a program.
- `primitives`: numbers, varints and uuids.

Metadata records (replica.metadata.records) and the control records of the Raft layer
(replica.format.control_records) are such tables. Requests and responses are not: replica.wire has a
language and a codec of its own. Requests have versions before KIP-482, nulls and fields that depend
on the version, and bodies that are sent without a copy. Records have none of these. The codec of
records keeps unknown tagged fields and the exact bytes of odd encodings, and numba can compile its
programs. A reader for both would need all these features, and must not decode logs more slowly. On
one core, this codec reads DescribeQuorum's response of 270 bytes in 21 us and replica.wire's codec
in 30 us. They write this response in 21 and 18 us, and a fetch of 1 MiB in 19 and 2 us.
"""
