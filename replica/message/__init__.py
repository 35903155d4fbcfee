"""Kafka's message language for records: tables of fields in, bytes and JSON out.

- `schema`: the words of a table; `program`: one version of a table, flat.
- `reader`, `writer`: bytes by a program. `json_text`, `plain_reader`: Kafka's JSON by a program.
- `primitives`: numbers, varints and uuids.

Metadata records (replica.metadata.records) and the control records of the Raft layer
(replica.format.control_records) are tables in it. Requests and responses are not: replica.wire has
a language and a codec of its own. Theirs has versions before KIP-482, null by version and fields
that end with a version, which no record has, and bodies that are sent without a copy; records keep
unknown tagged fields and the exact bytes of odd encodings, which requests don't. Measured on one
core, DescribeQuorum's response of 270 bytes is read in 21 us here and in 30 us there, but written
in 21 us here and in 18 us there, and a fetch of 1 MiB in 19 us here and in 2 us there. One reader
for both would have to gain what each lacks without slowing the decoding of logs.
"""
