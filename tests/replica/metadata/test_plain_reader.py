"""Records back from Kafka's JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.metadata.codec import decode
from replica.metadata.json_text import from_plain, json_text
from replica.metadata.record import MetadataRecord, new_record
from replica.metadata.redact import Redactor
from tests.replica.metadata.strategies import records


@given(records())
def test_a_record_comes_back_from_its_json(record: MetadataRecord) -> None:
    back = from_plain(record.type, record.version, json.loads(json_text(record)))
    # repr, as NaN equals nothing
    assert repr(back) == repr(replace(record, unknown_tags=(), original=None))


def test_every_recorded_type_and_version_comes_back(golden: tuple[tuple[bytes, str], ...]) -> None:
    for value, payload in golden:
        record = decode(value)
        assert isinstance(record, MetadataRecord)
        parsed = json.loads(payload)
        back = from_plain(parsed["type"], parsed["version"], parsed["data"])
        assert back.fields.keys() == record.fields.keys()
        assert json_text(back) == json_text(record)


def test_a_redacted_field_of_bytes_stays_its_fingerprint() -> None:
    secret = new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, {"name": "alice", "salt": b"salt"})
    shown, _ = Redactor(b"key").redact(secret)
    assert isinstance(shown, MetadataRecord)
    back = from_plain(shown.type, shown.version, json.loads(json_text(shown)))
    assert back.fields["salt"] == shown.fields["salt"]
    assert str(back.fields["salt"]).startswith("***:")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_doubles_that_json_lacks_are_strings(text: str) -> None:
    data = {"entity": [], "key": "producer_byte_rate", "value": text, "remove": False}
    number = from_plain("CLIENT_QUOTA_RECORD", 0, data).fields["value"]
    assert isinstance(number, float)
    assert math.isnan(number) if text == "NaN" else math.isinf(number)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"topicId": "x"}, "TOPIC_RECORD.name is missing"),
        ({"name": 7, "topicId": "x"}, "TOPIC_RECORD.name: 7 is no string"),
        ([], "TOPIC_RECORD: [] is no structure"),
    ],
)
def test_json_of_another_shape_is_refused_by_name(data: object, said: str) -> None:
    with pytest.raises(CorruptDataError, match="TOPIC_RECORD") as caught:
        from_plain("TOPIC_RECORD", 0, data)  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.parametrize(("name", "version"), [("TOPIC_RECORD", 99), ("NO_SUCH_RECORD", 0)])
def test_an_unknown_type_or_version_is_refused(name: str, version: int) -> None:
    with pytest.raises(UnsupportedDataError, match=f"{name} version {version}"):
        from_plain(name, version, {})
