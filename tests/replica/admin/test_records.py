"""Records are made of lines of JSON, and batches of records."""

import base64
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.admin.records import batch_of, record_of_json, record_of_value
from replica.errors import UsageError
from replica.format.batch import computed_crc, decode_header
from replica.format.record import RecordHeader, records_of

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
RAW = st.none() | TEXT.map(str.encode) | st.binary(max_size=20)
HEADERS = st.lists(st.tuples(TEXT, RAW), max_size=3)


def written(raw):
    """The line as `kraftlake consume --json` prints it."""
    if raw is None:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


@given(st.lists(st.tuples(RAW, RAW, HEADERS), min_size=1, max_size=5), st.integers(0, 2**40))
def test_records_pass_through_json_and_a_batch(records, timestamp):
    lines = [
        json.dumps(
            {
                **{"offset": 5, "epoch": 1, "timestamp": 3, "key": written(key)},
                **{"value": written(value), "headers": [[k, written(v)] for k, v in headers]},
            }
        )
        for key, value, headers in records
    ]
    batch = batch_of([record_of_json(line.encode()) for line in lines], timestamp)
    header = decode_header(batch)
    assert computed_crc(batch) == header.crc
    found = list(records_of(header, batch))
    assert [(r.key, r.value, [tuple(h) for h in map(_pair, r.headers)]) for r in found] == [
        (key, value, headers) for key, value, headers in records
    ]
    assert [(r.offset, r.timestamp) for r in found] == [(n, timestamp) for n in range(len(found))]


def _pair(header: RecordHeader):
    return header.key, header.value


@given(st.binary(max_size=50))
def test_any_bytes_can_be_a_value(value):
    batch = batch_of([record_of_value(value)], 1)
    (record,) = records_of(decode_header(batch), batch)
    assert (record.key, record.value) == (None, value)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("x", "not JSON"),
        ("[]", "not an object"),
        ('{"v": 1}', '"v": expected key, value and headers'),
        (r'{"a\nb": 1}', r'^"a\\nb": expected key, value and headers'),
        ('{"value": 1}', "value: expected text, null or"),
        ('{"value": {"base64": "***"}}', "value: base64"),
        ('{"value": {"base64": 1}}', "value: base64"),
        ('{"headers": {"a": "b"}}', "headers: expected"),
        ('{"headers": [["a"]]}', "headers: expected"),
        ('{"headers": [["a", 1]]}', 'header "a": expected text'),
        (r'{"headers": [["a\nb", 1]]}', r'^header "a\\nb": expected text'),
        (r'{"headers": [["\ud800", "x"]]}', "no UTF-8"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_line_that_is_no_record_is_named(line, why):
    with pytest.raises(UsageError, match=why):
        record_of_json(line.encode())


@given(st.binary(max_size=60))
def test_bytes_are_a_record_or_a_usage_error(line):
    with contextlib.suppress(UsageError):
        batch_of([record_of_json(line)], 1)
