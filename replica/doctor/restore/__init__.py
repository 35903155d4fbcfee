"""Makes a new cluster begin with another cluster's metadata: `kraftlake restore`.

plan        which entities of an image are copied, what is changed in them, what is left out
checkpoint  records as the bytes of a bootstrap checkpoint, and the voters in the new cluster's

A controller whose log is empty appends the records of its bootstrap checkpoint when it first
becomes the leader (Kafka: BootstrapMetadata, ActivationRecordsGenerator). Kafka writes the
finalized features and SCRAM credentials there; it accepts any metadata record. Kafka doesn't
document this. tests/interop/test_restore_to_kafka.py tries it on several releases.
"""
