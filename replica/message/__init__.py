"""Kafka's message language: from a table of fields to functions for bytes and JSON.

- `schema`: how a table is declared. `program`: one version of a table as a flat list of steps.
- `reader`, `writer`: bytes by a program. `json_text`, `plain_reader`: Kafka's JSON by a program.
- `primitives`: numbers, varints and uuids.

Metadata records (replica.metadata.records), the control records of the Raft layer
(replica.format.control_records), requests and responses (replica.wire.apis) are such tables. This
package reads and writes the bytes of records; replica.wire.codec reads and writes requests and
responses. A record keeps its unknown tagged fields and the exact bytes of unusual encodings, and
numba can compile its program. A request has versions before KIP-482, is read within limits that its
reader sets, and is sent without a copy of its large fields. A common codec would need all these
features, and would decode logs more slowly. On one core, this codec reads DescribeQuorum's response
of 270 bytes in 21 us and replica.wire's codec in 30 us. They write this response in 21 and 18 us,
and a fetch of 1 MiB in 19 and 2 us.
"""
