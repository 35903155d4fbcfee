"""The state that the records of a metadata log make: the replay, as in Kafka.

replay          Replay, which applies records; transactions; refusals
versions        VersionedReplay, which also gives the writes of each record: the entity before and
                after
image           Image, the frozen result, with its entities; differences of two images
texts           makes entities from the texts that tables keep
snapshot        an image -> the records of a snapshot
partitioning    how a log is split into parts that can be replayed separately
state           the tables of a replay; kind: how an entity is written as text
topics (with partition), settings, registrations, access, voters    the entities that records make

The facts are from KIP-631 and later KIPs, and from the code of Kafka 3.9 and 4.1.1. If a fault of
Kafka makes its image disagree with the log, the replay follows the log.
"""
