"""The records of Kafka's metadata log: what they are, their bytes, their JSON, their VARIANT.

schema, records   which record types and versions exist, as data: the only description of records
program           a schema at one version as a flat program, for the readers and writers
record            the values: MetadataRecord, UnknownRecord
reader, writer    bytes -> record, record -> the same bytes
json_text         Kafka's JSON of a record, as text and as plain Python values
variant           plain values -> Spark's VARIANT
redact            which values are secret, and what stands in their place

Pure functions over buffers. The bytes are those of a record's value in a data batch of
`__cluster_metadata-0`; control records are replica.format.control's.
"""
