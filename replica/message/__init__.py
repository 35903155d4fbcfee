"""Kafka's message language for records: tables of fields in, bytes and JSON out.

- `schema`: the words of a table; `program`: one version of a table, flat.
- `reader`, `writer`: bytes by a program. `json_text`, `plain_reader`: Kafka's JSON by a program.
- `primitives`: numbers, varints and uuids.

Metadata records (replica.metadata.records) and the control records of the Raft layer
(replica.format.control_records) are tables in it. Requests and responses are not: replica.wire has
a language and a codec of its own. It has versions before KIP-482, null by version, fields that end
with a version, and bodies of megabytes that are sent without a copy; records have none of these,
but keep unknown tagged fields and the exact bytes of odd encodings, which requests don't.
"""
