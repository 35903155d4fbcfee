"""The replay: records in, an image out (Kafka: MetadataBatchLoader, MetadataDelta).

A record that can't be applied changes nothing, and the replay continues. The records between BEGIN
and END of a transaction (KIP-868) become visible together at END, and never after an ABORT. A
record of a transaction may be refused at once, even if the transaction is aborted later. Aborted
records never explain a later refusal.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from replica.errors import UnsupportedDataError
from replica.format.control import ControlMessage, UnknownControl, decode_control
from replica.format.record import Record
from replica.metadata.codec import decode
from replica.metadata.image import access, registrations, settings, topics, voters
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.state import Handler, Refused, State, state_of
from replica.metadata.passed_over import NOTHING, PassedOver
from replica.metadata.record import MetadataRecord, PassedOverRecord, UnknownRecord
from replica.metadata.records import NEWEST_KAFKA

ReplayedRecord: TypeAlias = MetadataRecord | UnknownRecord | PassedOverRecord | ControlMessage

_HANDLERS: dict[str, Handler] = {
    **topics.HANDLERS,
    **settings.HANDLERS,
    **registrations.HANDLERS,
    **access.HANDLERS,
}
MARKERS = ("BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD")
"""The record types that begin, end and abort a transaction (KIP-868)."""

_BEGIN, _, _ABORT = MARKERS


class RecordReader(Protocol):
    """A function that decodes a log record for a replay: `meaning`, or a function that gives the
    same records without secrets."""

    def __call__(self, record: Record, *, is_control: bool) -> ReplayedRecord: ...


def reader(passed_over: PassedOver) -> RecordReader:
    """`meaning`, which gives a PassedOverRecord for the types of `passed_over`."""
    return partial(meaning, passed_over=passed_over) if passed_over else meaning


def meaning(
    record: Record, *, is_control: bool, passed_over: PassedOver = NOTHING
) -> ReplayedRecord:
    """The decoded record, for a replay; a PassedOverRecord for a type of `passed_over`. Raises
    DataError for a record that can't be decoded, and for any other unknown type, because the state
    after this record would be unknown."""
    if is_control:
        control = decode_control(record.key, record.value)
        if isinstance(control, UnknownControl):
            raise UnsupportedDataError("its type or version, of a control record, is not known")
        return control
    message = decode(record.value or b"")
    if type(message) is UnknownRecord:
        if message.api_key in passed_over:
            return PassedOverRecord(message.api_key)
        raise UnsupportedDataError(
            f"its type has the number {message.api_key} and version {message.version}, which this "
            f"release doesn't know; it reads up to Kafka {NEWEST_KAFKA}"
        )
    return message


class Refusal(NamedTuple):
    """A record that can't be applied and changes nothing, as in Kafka."""

    offset: int
    record_type: str
    reason: str
    """The reason in one line."""
    because: tuple[int, ...]
    """The offsets of the earlier records that explain the refusal, such as the removal of the
    record's topic, or the registration with another broker epoch. Empty if no record since the
    replay's first image explains the refusal."""


class Replay:
    """Applies records to tables, which it changes in place for speed. The method `image` copies the
    tables.

    image: the state before the first record: EMPTY for a log from offset 0, or the image of a
        snapshot.
    state: the tables after the last record. replica.scan writes into them.
    """

    __slots__ = ("_before", "_boundary", "state")

    def __init__(self, image: Image = EMPTY) -> None:
        self.state = state_of(image.tables)
        self._before: State | None = None
        """The state before the BEGIN of an open transaction; else None."""
        self._boundary: tuple[int, ...] = ()
        """The offset of the last transaction marker; () before the first marker."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: its BEGIN was applied, and its END or ABORT was not."""
        return self._before is not None

    def copy(self) -> Replay:
        """A replay with the same state, which continues independently."""
        twin = Replay.__new__(Replay)
        twin.state = self.state.copy()
        twin._before = None if self._before is None else self._before.copy()
        twin._boundary = self._boundary
        return twin

    def image(self) -> Image:
        """The image that is visible now. Within a transaction, this image is the image before the
        BEGIN.

        This method copies the tables, but not their values, which takes a few ms for 100,000
        partitions.
        """
        visible = self.state if self._before is None else self._before
        return Image(visible.tables())

    def renumber(self, offset: int) -> None:
        """Give all changes, removals and registrations so far this offset, as if the record at the
        offset had made them."""
        for state in (self.state, self._before):
            if state is not None:
                state.renumber(offset)
        self._boundary = (offset,) if self._boundary else ()

    def apply(self, offset: int, record: ReplayedRecord) -> Refusal | None:
        """Apply the record at this offset. Returns a Refusal if it can't be applied, else None.

        Records without state (LEADER_CHANGE, NO_OP, header and footer of a snapshot), and records
        that are passed over, change nothing.
        """
        if type(record) is not MetadataRecord:
            return self._apply_other(offset, record)
        record_type = record.schema.name
        handler = _HANDLERS.get(record_type)
        if handler is not None:
            refused = handler(self.state, offset, record.fields)
        elif record_type in MARKERS:
            refused = self._cross_boundary(offset, record_type)
        else:
            return None
        return None if refused is None else Refusal(offset, record_type, *refused)

    def _apply_other(self, offset: int, record: ReplayedRecord) -> Refusal | None:
        if isinstance(record, UnknownRecord):
            reason = f"api key {record.api_key} version {record.version} is unknown to kraftlake"
            return Refusal(offset, record.type, reason, ())
        handler = voters.CONTROL_HANDLERS.get(type(record))
        if handler is not None:
            handler(self.state, offset, record)
            if self._before is not None:
                handler(self._before, offset, record)
        return None

    def _cross_boundary(self, offset: int, marker: str) -> Refused | None:
        if (marker == _BEGIN) == self.in_transaction:
            reason = "a transaction is open" if marker == _BEGIN else "no transaction is open"
            return reason, self._boundary
        if marker == _BEGIN:
            self._before = self.state.copy()
        else:
            if marker == _ABORT and self._before is not None:
                self.state = self._before
            self._before = None
        self._boundary = (offset,)
        return None
