"""The records of Kafka's metadata log: their types, their bytes, their JSON, their VARIANT.

records          the table of all record types and versions; nothing else describes them
programs         each type and version as a program of replica.message, for readers and writers
record           the values: MetadataRecord, UnknownRecord, PassedOverRecord
passed_over      the unknown types that a replay ignores, because the user names them
codec            bytes -> record, record -> the same bytes
json_text        Kafka's JSON of a record, as text and as plain Python values; and back
variant          plain values -> Spark's VARIANT; back: variant_reader
redact           which values are secret, and the text that replaces them
known_configs    the configs whose values may be shown
topic_configs    topics' configs with Kafka's defaults, and the brokers' configs behind them
effective_configs    which value of a config is in force, and what set it
log_record       a metadata or control record as tables and dump show it
image, changes   the state that the records of a log make, and its changes

All are pure functions over buffers. The bytes are a record's value in a data batch of
`__cluster_metadata-0`. Control records are in replica.format.control.
"""
