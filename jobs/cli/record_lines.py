"""A record as a line of text or of JSON, from any source: a metadata record, a control record, or a
record whose content only its producer understands. This module also reads the records of a batch,
and names the damage in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jobs.cli.output import json_text, ms_text
from replica.errors import DataError
from replica.format.compression import Inflation
from replica.format.damage import Damage, DamageKind
from replica.format.record import Record, records_of
from replica.format.walk import LocatedBatch
from replica.message.primitives import Buffer
from replica.metadata.log_record import LogRecord
from replica.metadata.redact import Redactor
from replica.terminal_text import one_line, safe_json


def records_in(
    batch: LocatedBatch, whole: Buffer, inflation: Inflation, name: Callable[[Damage], None]
) -> Iterator[Record]:
    """The records of a batch, up to the first whose frame doesn't decode. whole: the bytes of the
    batch; empty where the file was changed while it was read. name: is called with the damage."""
    header = batch.header
    if not whole:
        detail = "the batch at this byte was changed while it was read"
        name(Damage(batch.position, 0, DamageKind.CHANGED, detail))
        return
    offset = header.base_offset
    try:
        for record in records_of(header, whole, inflation):
            offset = record.offset + 1
            yield record
    except DataError as error:
        name(undecodable(batch.position, offset, str(error)))


def undecodable(position: int, offset: int, reason: str) -> Damage:
    """The damage of a record that can't be decoded. position: the position of its batch. offset:
    the record's offset."""
    detail = f"record at offset {offset} of the batch at this byte: {reason}"
    return Damage(position, 0, DamageKind.RECORD, detail)


def record_line(record: Record, epoch: int, read: LogRecord, json_start: str | None) -> str:
    """The line of a record: offset, epoch, time, type, version, and the content as Kafka's JSON.

    json_start: the beginning of a line of JSON, up to and including `"offset":`; None for a line of
    text, whose time is in UTC.
    """
    if json_start is None:
        return f"{_text_start(record, epoch)}{read.record_type} v{read.version}  {_shown(read)}\n"
    return (
        f'{json_start}{record.offset},"epoch":{epoch},'
        f'"timestamp":{record.timestamp},"type":"{read.record_type}",'
        f'"version":{read.version},"data":{safe_json(read.json_text())}}}\n'
    )


def opaque_line(
    record: Record, epoch: int, redactor: Redactor | None, json_start: str | None
) -> str:
    """The line of a record that only its producer understands: its offset, epoch, time, key and
    value; in JSON its headers too. redactor: hides keys and values; None shows them. json_start: as
    for record_line."""
    if json_start is None:
        return f"{_text_start(record, epoch)}{opaque_text(record, redactor)}\n"
    plain = {"epoch": epoch, "timestamp": record.timestamp, **opaque_content(record, redactor)}
    return f"{json_start}{record.offset},{json_text(plain)[1:]}\n"


def opaque_content(record: Record, redactor: Redactor | None) -> dict[str, Any]:
    """Key, value and headers of a record that only its producer understands, for JSON. redactor: as
    for opaque_line."""
    return {
        "key": _text_or_base64(_hidden(record.key, redactor)),
        "value": _text_or_base64(_hidden(record.value, redactor)),
        "headers": [[h.key, _text_or_base64(_hidden(h.value, redactor))] for h in record.headers],
    }


def opaque_text(record: Record, redactor: Redactor | None) -> str:
    """Key and value of a record that only its producer understands. redactor: hides them; None
    shows them."""
    key, value = (_text(_hidden(raw, redactor)) for raw in (record.key, record.value))
    return f"{key}  {value}"


def _text_start(record: Record, epoch: int) -> str:
    return f"{record.offset:>10}  {epoch:>4}  {ms_text(record.timestamp)}  "


def _hidden(raw: bytes | None, redactor: Redactor | None) -> bytes | None:
    if raw is None or redactor is None:
        return raw
    return redactor.fingerprint("unreadable", raw).encode("ascii")


def _text_or_base64(raw: bytes | None) -> object:
    """The bytes as text where they are UTF-8, else an object {"base64": ...}; None for None."""
    if raw is None:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": raw}


def _text(raw: bytes | None) -> str:
    return "null" if raw is None else one_line(raw.decode("utf-8", "backslashreplace"))


def _shown(read: LogRecord) -> str:
    """The text with escapes for control characters. Kafka escapes only characters below 0x20, but a
    terminal also obeys control characters above 0x7f."""
    text = read.json_text()
    return text if text.isprintable() else one_line(text)
