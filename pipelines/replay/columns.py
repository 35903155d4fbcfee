"""Records in columns, as the rows of one part of a replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.replay.entries import (
    KNOWN_CONTROL,
    SPREAD,
    STATEFUL_CONTROL,
    bucket_of,
    mask_of,
    stored_record,
)
from replica.message.primitives import uuid_text
from replica.metadata.codec import decode
from replica.metadata.image.partitioning import BROADCAST, KEY_FIELDS, PartitionKey, key_of
from replica.metadata.passed_over import NOTHING, PassedOver
from replica.metadata.record import UnknownRecord
from replica.metadata.records import RECORDS_BY_KEY
from replica.metadata.variant_reader import variant_json

_READ = (
    "offset", "leader_epoch", "timestamp", "is_control", "record_type", "record_version",
    "payload", "value",
)  # fmt: skip
RECORDS = pa.schema([SPREAD.field(name) for name in _READ])
"""The columns that are read of each record. payload: JSON, only where `value` is NULL."""

_Mask = npt.NDArray[np.bool_]
_STATEFUL = frozenset({*KEY_FIELDS, *BROADCAST}) - {*STATEFUL_CONTROL}
_OF_PARTITIONS = frozenset({"PARTITION_RECORD", "PARTITION_CHANGE_RECORD"})
_ENVELOPE_BYTES = 3
_ONE_BYTE = 0x7F
"""The largest number that takes only one byte in an envelope."""
_TOPIC_ID = slice(7, 23)
"""The bytes of the topic id in a partition's value: after the envelope and the partition's id."""


def with_json(rows: pa.Table) -> pa.Table:
    """The rows with `payload`, which is a VARIANT, as JSON where `value` is NULL, and as NULL
    elsewhere."""
    bare = np.flatnonzero(mask_of(rows["value"].is_null()))
    texts = np.full(rows.num_rows, None, object)
    for place in bare.tolist():
        payload = rows["payload"][place].as_py()
        if payload is not None:
            texts[place] = variant_json(payload["value"], payload["metadata"])
    index = rows.column_names.index("payload")
    return rows.set_column(index, "payload", pa.array(texts, pa.string()))


class RecordPlace(NamedTuple):
    """The columns of SPREAD that say where a part of a replay reads records."""

    position: pa.Array | int
    """The position of each record in the order of the replay: an array, or one value for all
    records."""
    source: str
    commitment: pa.Array | str | None
    """The commitment of each record: an array, or one value for all records; None for records of a
    snapshot."""


def is_unknown(rows: pa.Table, passed_over: PassedOver = NOTHING) -> _Mask:
    """Whether each record has an api key, version or control type that this release doesn't know,
    and isn't passed over. rows: with the columns of RECORDS."""
    is_control = mask_of(rows["is_control"])
    found = ~is_control & _has_unknown_bytes(rows)
    if passed_over:
        for place, api_key in _unknown_keys(rows, found):
            found[place] = api_key not in passed_over
    return found | (is_control & ~_of_types(rows, KNOWN_CONTROL))


def counts_passed_over(rows: pa.Table, passed_over: PassedOver) -> Counter[int]:
    """How many of the records are passed over, by their api key. rows: with the columns of
    RECORDS."""
    if not passed_over:
        return Counter()
    found = ~mask_of(rows["is_control"]) & _has_unknown_bytes(rows)
    return Counter(api_key for _, api_key in _unknown_keys(rows, found) if api_key in passed_over)


def _unknown_keys(rows: pa.Table, unknown: _Mask) -> Iterator[tuple[int, int]]:
    """(index, api key) of each record of `rows` that `unknown` marks and whose type this release
    doesn't know."""
    places = np.flatnonzero(unknown)
    for place, row in zip(places.tolist(), _rows(rows.take(pa.array(places))), strict=True):
        record = stored_record(*row)
        if isinstance(record, UnknownRecord) and record.api_key not in RECORDS_BY_KEY:
            yield place, record.api_key


def _has_unknown_bytes(rows: pa.Table) -> _Mask:
    """Whether each record, if it is a metadata record, is of a type or version that this release
    doesn't know. Only the JSON of a record of an unknown type has a field apiKey."""
    values = rows["value"].combine_chunks()
    found = mask_of(pc.fill_null(pc.match_substring(rows["payload"], '"apiKey":'), False))
    found &= mask_of(values.is_null())
    envelopes = pc.binary_slice(values, 0, _ENVELOPE_BYTES).dictionary_encode()
    found |= _where(envelopes, lambda one: _is_unknown(one) is True)
    is_long = _where(envelopes, lambda one: _is_unknown(one) is None)
    for index in np.flatnonzero(is_long & ~mask_of(rows["is_control"])).tolist():
        found[index] = isinstance(decode(values[index].as_py()), UnknownRecord)
    return found


def _is_unknown(envelope: bytes) -> bool | None:
    """Whether values that begin with this envelope are of a type or version that this release
    doesn't know. None where a number of the envelope has more than one byte."""
    if len(envelope) < _ENVELOPE_BYTES or max(envelope) > _ONE_BYTE:
        return None
    schema = RECORDS_BY_KEY.get(envelope[1])
    return schema is None or envelope[2] not in schema.versions


def spread(
    rows: pa.Table, unknown: _Mask, cluster_id: str, place: RecordPlace, bucket: int, buckets: int
) -> pa.Table:
    """The rows of SPREAD for the records that one part of a replay needs: those with state whose
    key is in the part's bucket, and those that every part needs. rows: records with the columns of
    RECORDS. unknown: the result of is_unknown."""
    kept = _has_state(rows, unknown)
    if buckets > 1:
        kept &= unknown | _is_in_bucket(rows, bucket, buckets)
    found = {
        "cluster_id": (cluster_id, pa.string()),
        "bucket": (bucket, pa.int32()),
        "position": (place.position, pa.int64()),
        "source": (place.source, pa.string()),
        "commitment": (place.commitment, pa.string()),
    }
    columns = [
        _column(*found[name], rows.num_rows) if name in found else rows[name]
        for name in SPREAD.names
    ]
    table = pa.Table.from_arrays(columns, schema=SPREAD)
    return table if kept.all() else table.filter(pa.array(kept))


def _column(value: pa.Array | int | str | None, kind: pa.DataType, count: int) -> pa.Array:
    return value if isinstance(value, pa.Array) else pa.repeat(pa.scalar(value, kind), count)


def _has_state(rows: pa.Table, unknown: _Mask) -> _Mask:
    """Whether a replay applies each record, or must know that the record exists."""
    is_valued = mask_of(pc.is_valid(rows["value"]))
    return np.where(
        mask_of(rows["is_control"]),
        _of_types(rows, STATEFUL_CONTROL) & is_valued,
        _of_types(rows, _STATEFUL) | unknown,
    )


def _is_in_bucket(rows: pa.Table, bucket: int, buckets: int) -> _Mask:
    """For each record that has state, whether the part of a bucket needs it."""
    mine = {*BROADCAST}
    for record_type, (family, _) in KEY_FIELDS.items():
        if bucket_of(PartitionKey(family, ""), buckets) == bucket:
            mine.add(record_type)
    found = _of_types(rows, mine - _OF_PARTITIONS)
    of_topics = _of_types(rows, _OF_PARTITIONS)
    values = rows["value"].combine_chunks()
    is_short = of_topics & _is_short(values)
    places = np.flatnonzero(is_short)
    ids = pc.binary_slice(values.take(pa.array(places)), _TOPIC_ID.start, _TOPIC_ID.stop)
    found[places] = _where(
        ids, lambda one: bucket_of(PartitionKey("topic", uuid_text(one)), buckets) == bucket
    )
    others = np.flatnonzero(of_topics & ~is_short)
    for place, row in zip(others.tolist(), _rows(rows.take(pa.array(others))), strict=True):
        found[place] = bucket_of(key_of(stored_record(*row)), buckets) == bucket
    return found


def _is_short(values: pa.Array) -> _Mask:
    """Whether the envelope of each value has three bytes."""
    envelopes = pc.binary_slice(values, 0, _ENVELOPE_BYTES)
    return _where(envelopes, lambda one: max(one, default=0xFF) <= _ONE_BYTE)


def _rows(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    """For each row, the values that stored_record takes."""
    names = ("is_control", "record_type", "record_version", "payload", "value")
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def _of_types(rows: pa.Table, names: Collection[str]) -> _Mask:
    return _where(rows["record_type"].combine_chunks(), names.__contains__)


def _where(values: pa.Array, holds: Callable[[Any], bool]) -> _Mask:
    """Whether a condition holds for each value; False for NULL. The condition is computed once for
    each different value. values: a dictionary array is not encoded again."""
    encoded = values.dictionary_encode()
    answers = np.array([*map(holds, encoded.dictionary.to_pylist()), False], np.bool_)
    codes: npt.NDArray[np.int64] = encoded.indices.fill_null(-1).to_numpy()
    return answers[codes]
