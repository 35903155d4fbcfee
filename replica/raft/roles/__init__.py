"""One module for each epoch role: a frozen value that owns only its own data.

Every role has an `epoch`, a `leader_id` (NO_NODE while unknown), the `voted` key and `grants`,
which answers vote requests of its own epoch. Observer is no role: it is a replica outside the voter
set, which is never more than unattached or follower. Kafka: EpochState and its implementations.
"""
