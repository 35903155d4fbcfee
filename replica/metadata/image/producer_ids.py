"""The next producer id to hand out (KIP-730; Kafka: ProducerIdsDelta).

Which broker asked is no state: a snapshot names broker -1, epoch -1. An id below 0 means none.
"""

from __future__ import annotations

from replica.metadata.image.kind import Kind
from replica.metadata.image.state import Fields, Handler, Refused, State


def _set(state: State, offset: int, fields: Fields) -> Refused | None:
    if fields["nextProducerId"] < 0:
        state.producer_ids.drop("")
    else:
        state.producer_ids.put("", fields["nextProducerId"], offset)
    return None


HANDLERS: dict[str, Handler] = {"PRODUCER_IDS_RECORD": _set}
KINDS = (
    Kind(
        "producer_ids",
        "producer_ids",
        "PRODUCER_IDS_RECORD",
        str,
        lambda _, next_id: {"brokerId": -1, "brokerEpoch": -1, "nextProducerId": next_id},
    ),
)
