"""All families of entities that metadata records make, in canonical order."""

from replica.metadata.image import (
    acls,
    brokers,
    client_quotas,
    configs,
    controllers,
    delegation_tokens,
    features,
    producer_ids,
    scram,
    topics,
    zk_migration,
)

FAMILIES = (
    topics, configs, brokers, controllers, features, acls, scram, client_quotas,
    delegation_tokens, producer_ids, zk_migration,
)  # fmt: skip
"""Each module has HANDLERS by record type, and KINDS. The voters are not among them: their records
are the Raft layer's."""
