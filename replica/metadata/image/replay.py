"""The replay: records in, an image out (Kafka: MetadataBatchLoader, MetadataDelta).

Rules of the whole: a record that can't be applied changes nothing and the replay goes on; what
stands between BEGIN and END of a transaction (KIP-868) is seen together after END, and never after
ABORT. Records in a transaction are judged as they come, so a refusal is told at once, also of a
transaction that is aborted later; offsets of aborted records explain no later refusal.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from replica.errors import UnsupportedDataError
from replica.format.control import ControlMessage, UnknownControl, decode_control
from replica.format.record import Record
from replica.metadata.image import voters
from replica.metadata.image.families import FAMILIES
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.state import Handler, Refused, State, state_of
from replica.metadata.reader import decode
from replica.metadata.record import MetadataRecord, UnknownRecord

ReplayedRecord: TypeAlias = MetadataRecord | UnknownRecord | ControlMessage

_HANDLERS: dict[str, Handler] = {
    record_type: handler for family in FAMILIES for record_type, handler in family.HANDLERS.items()
}
MARKERS = ("BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD")
"""What opens and closes a transaction (KIP-868)."""

_BEGIN, _, _ABORT = MARKERS


def meaning(record: Record, *, is_control: bool) -> ReplayedRecord:
    """What a replay applies for a log record; DataError for one that nobody here understands, as
    nothing can be told of the state behind it."""
    if is_control:
        control = decode_control(record.key, record.value)
        if isinstance(control, UnknownControl):
            raise UnsupportedDataError("a control record without a meaning here")
        return control
    message = decode(record.value or b"")
    if type(message) is UnknownRecord:
        raise UnsupportedDataError("a record without a meaning here")
    return message


class Refusal(NamedTuple):
    """A record that changes nothing, as Kafka wouldn't apply it either.

    reason: one line. because: offsets of the earlier records that explain it, such as the
    registration whose broker epoch differs or the removal of what the record speaks of; empty where
    nothing earlier does, or it lies before the image that the replay began with.
    """

    offset: int
    record_type: str
    reason: str
    because: tuple[int, ...]


class Replay:
    """A fold over records, changed in place for speed; `image` is what it is at a point.

    image: where to begin; EMPTY for a log from offset 0, else a snapshot's.
    """

    __slots__ = ("_before", "_boundary", "_state")

    def __init__(self, image: Image = EMPTY) -> None:
        self._state = state_of(image.tables)
        # The state before BEGIN while a transaction is open; the offset of its last boundary.
        self._before: State | None = None
        self._boundary: tuple[int, ...] = ()

    @property
    def in_transaction(self) -> bool:
        """True after a BEGIN whose END or ABORT is still to come."""
        return self._before is not None

    @property
    def state(self) -> State:
        """The tables as the last record left them, for whoever replays into them (replica.scan)."""
        return self._state

    def copy(self) -> Replay:
        """A replay that goes on from here by itself."""
        twin = Replay.__new__(Replay)
        twin._state = self._state.copy()
        twin._before = None if self._before is None else self._before.copy()
        twin._boundary = self._boundary
        return twin

    def image(self) -> Image:
        """What is visible now: within a transaction, the state before its BEGIN.

        Costs a copy of the tables (no values), some milliseconds for 100,000 partitions.
        """
        visible = self._state if self._before is None else self._before
        return Image(visible.tables())

    def apply(self, offset: int, record: ReplayedRecord) -> Refusal | None:
        """The record at this offset; a Refusal where it changes nothing because it can't.

        Records without state (LEADER_CHANGE, NO_OP, header and footer of a snapshot) do nothing.
        """
        if type(record) is not MetadataRecord:
            return self._apply_other(offset, record)
        record_type = record.schema.name
        handler = _HANDLERS.get(record_type)
        if handler is not None:
            refused = handler(self._state, offset, record.fields)
        elif record_type in MARKERS:
            refused = self._cross_boundary(offset, record_type)
        else:
            return None
        return None if refused is None else Refusal(offset, record_type, *refused)

    def _apply_other(self, offset: int, record: ReplayedRecord) -> Refusal | None:
        if isinstance(record, UnknownRecord):
            reason = f"api key {record.api_key} version {record.version} is not known here"
            return Refusal(offset, record.type, reason, ())
        handler = voters.CONTROL_HANDLERS.get(type(record))
        if handler is not None:
            handler(self._state, offset, record)
            if self._before is not None:
                handler(self._before, offset, record)
        return None

    def _cross_boundary(self, offset: int, marker: str) -> Refused | None:
        if (marker == _BEGIN) == self.in_transaction:
            reason = "a transaction is open" if marker == _BEGIN else "no transaction is open"
            return reason, self._boundary
        if marker == _BEGIN:
            self._before = self._state.copy()
        else:
            if marker == _ABORT and self._before is not None:
                self._state = self._before
            self._before = None
        self._boundary = (offset,)
        return None
