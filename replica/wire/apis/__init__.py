"""The messages of every API that kraftlake uses, as tables, by the message definitions of Kafka
4.4.

APIS has every API that a module here declares by replica.wire.schema.api. APIS lacks the API of
KIP-595's draft, because each quorum chooses the key of that API.
"""

from __future__ import annotations

from replica.wire.apis import cluster, configs, fetching, membership, quorum, sasl, writing
from replica.wire.schema import Api

_DECLARED = (
    found
    for module in (cluster, configs, fetching, membership, quorum, sasl, writing)
    for found in vars(module).values()
    if isinstance(found, Api)
)
APIS: dict[int, Api] = {each.key: each for each in sorted(_DECLARED, key=lambda each: each.key)}
"""The APIs by API key."""
