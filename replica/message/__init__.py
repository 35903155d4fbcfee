"""Kafka's message language: from a table of fields to functions for bytes and JSON.

- `schema`: how a table is declared. `program`: one version of a table as a flat list of steps.
- `reader`, `writer`: bytes by a program. `json_text`, `plain_reader`: Kafka's JSON by a program.
- `primitives`: numbers, varints and uuids.

Metadata records (replica.metadata.records), the control records of the Raft layer
(replica.format.control_records), requests and responses (replica.wire.apis) are such tables. Bytes
of records are read and written here, those of requests and responses by replica.wire.codec. A
record keeps its unknown tagged fields and the exact bytes of odd encodings, and numba can compile
its program. A request has versions before KIP-482, is read within bounds that its reader sets, and
is sent without a copy of its large fields. A reader for both would need all these features, and
must not decode logs more slowly. On one core, this codec reads DescribeQuorum's response of 270
bytes in 21 us and replica.wire's codec in 30 us. They write this response in 21 and 18 us, and a
fetch of 1 MiB in 19 and 2 us.
"""
