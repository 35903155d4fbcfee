"""Damage inside records, and what may be stored of damaged bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.bronze import small_tables
from replica.errors import DataError
from replica.format.batch import decode_header
from replica.format.damage import MAX_RAW_BYTES, Damage, DamageKind
from replica.format.file_names import LOG_KINDS, classify
from replica.format.record import records_of
from replica.metadata.log_record import LogRecordReader
from replica.metadata.redact import Redactor


def unreadable(
    records: Iterable[Mapping[str, Any]], captures: Mapping[str, str]
) -> list[small_tables.Row]:
    """Rows of bronze.damage for records that did not decode. There are few, so the driver makes
    them.

    records: with file, position, error and value; captures: capture_id by file.
    """
    found = []
    for row in records:
        raw = None if row["value"] is None else bytes(row["value"])[:MAX_RAW_BYTES]
        damage = Damage(row["position"], 0, DamageKind.RECORD, row["error"], row["file"])
        found.append(small_tables.damage_row(captures[row["file"]], damage, raw))
    return found


class RawBytes:
    """Decides which damaged bytes are stored. redactor: None stores all."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._reader = LogRecordReader(self._redactor)

    def hide(self, file: str, raw: bytes) -> bytes:
        """The bytes, or a fingerprint where they are bytes of a log and may hold a secret."""
        kind = classify(file.rsplit("/", 1)[-1]).kind
        if self._redactor is None or kind not in LOG_KINDS or self._is_harmless(raw):
            return raw
        return self._redactor.fingerprint("damaged", raw).encode("ascii")

    def _is_harmless(self, raw: bytes) -> bool:
        """Whether the bytes are a whole batch whose records all decode, and none is of a secret
        type."""
        try:
            header = decode_header(raw)
            if header.size_bytes != len(raw):
                return False
            records = list(records_of(header, raw))
        except DataError:
            return False
        return all(
            self._reader.read(record, is_control=header.is_control).is_harmless
            for record in records
        )
