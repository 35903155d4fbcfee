"""Makes a cluster's metadata the beginning of a new cluster: `kraftlake restore`.

plan        which entities of an image are copied, what is changed in them, what is left out
checkpoint  records as the bytes of a bootstrap checkpoint, and the voters in the new cluster's

A controller whose log is empty appends the records of its bootstrap checkpoint when it first
becomes the leader (Kafka: BootstrapMetadata, ActivationRecordsGenerator). Kafka writes the
finalized features and SCRAM credentials there; it takes any metadata record. That is an
undocumented way in, which tests/interop/test_restore_to_kafka.py tries on several releases.
"""
