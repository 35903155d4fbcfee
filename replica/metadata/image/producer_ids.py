"""The next producer id that a broker will get (KIP-730; Kafka: ProducerIdsDelta). The broker that
asked last is not part of the state: a snapshot names broker -1 and epoch -1. An id below 0 means
that there is none."""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind
from replica.metadata.image.state import Fields, Handler, Refused, State


def _set(state: State, offset: int, fields: Fields) -> Refused | None:
    if fields["nextProducerId"] < 0:
        state.producer_ids.drop("")
    else:
        state.producer_ids.put("", fields["nextProducerId"], offset)
    return None


def _fields(_: str, next_id: int) -> dict[str, object]:
    return {"brokerId": -1, "brokerEpoch": -1, "nextProducerId": next_id}


HANDLERS: dict[str, Handler] = {"PRODUCER_IDS_RECORD": _set}
KINDS = (EntityKind("producer_ids", "producer_ids", "PRODUCER_IDS_RECORD", _fields),)
