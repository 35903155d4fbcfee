"""The state that a metadata log adds up to: the replay of its records, as Kafka does it.

replay      Replay, which applies records; transactions; refusals
versions    VersionedReplay, which also says what each record writes: the entity before and after
image       Image, the frozen result, with its entities; differences of two images
texts       makes entities of the texts that tables keep
snapshot    an image -> the records of a snapshot
partitioning    how a log is split into parts that can be replayed apart
state       the tables that a replay works on; kind: how an entity is written as text
topics (with partition), settings, registrations, access, voters     the entities that records make

The facts are those of KIP-631 and later KIPs, read from Kafka 3.9 and 4.1.1. Where a fault of Kafka
makes its image disagree with the log, the replay follows the log.
"""
