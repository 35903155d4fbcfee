"""A metadata or control record as a line of text or of JSON, wherever it was read."""

from __future__ import annotations

from jobs.output import ms_text, one_line
from replica.format.record import Record
from replica.metadata.log_record import LogRecord


def text_line(record: Record, epoch: int, read: LogRecord) -> str:
    """Offset, epoch, time (UTC), type and version, Kafka's JSON."""
    return f"{text_start(record, epoch)}{read.record_type} v{read.version}  {_shown(read)}\n"


def text_start(record: Record, epoch: int) -> str:
    """What a line of text begins with, whatever the record holds."""
    return f"{record.offset:>10}  {epoch:>4}  {ms_text(record.timestamp)}  "


def json_rest(record: Record, epoch: int, read: LogRecord) -> str:
    """The rest of a line of JSON that has come to `"offset":`."""
    return (
        f'{record.offset},"epoch":{epoch},'
        f'"timestamp":{record.timestamp},"type":"{read.record_type}",'
        f'"version":{read.version},"data":{read.json_text()}}}\n'
    )


def _shown(read: LogRecord) -> str:
    """Kafka escapes control characters below 0x20 only; a terminal obeys those above 0x7f too."""
    text = read.json_text()
    return text if text.isprintable() else one_line(text)
