"""The changes of a cluster: the versions of its entities as typed changes. All functions are pure.

catalogue        every type of change as data: its name, its entity, what it means
typed            two versions of an entity -> its changes; partitions: the same for a partition
named_changes    ChangeNamer: the writes of a replay -> changes with the names of their entities
brokers_seen     which brokers must have been alive when an entity changed
naming           the name of an entity for people
releases         the names of metadata.version's levels
readers          what each release of Kafka can read; unread: why it can't read a level or record
"""
