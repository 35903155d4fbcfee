"""Every message of every version: what is written is read again, and hostile bytes are refused."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from replica.errors import CorruptDataError, DataError, TruncatedDataError
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS, METADATA
from replica.wire.apis.fetching import FETCH
from replica.wire.apis.membership import UNREGISTER_CONTROLLER
from replica.wire.apis.quorum import VOTE
from replica.wire.codec import MAX_ELEMENTS, decode, encode
from replica.wire.schema import Structure
from tests.examples import examples
from tests.replica.wire.messages import STRUCTURES, messages, name_of
from tests.traced_memory import peak_of

every_message = pytest.mark.parametrize(("structure", "version"), STRUCTURES, ids=name_of)
UNKNOWN_TO_THE_OTHER = {(UNREGISTER_CONTROLLER.key, 0), (API_VERSIONS.key, 5)}
"""API key and version: of Kafka 4.4, which the other implementation doesn't know. Kafka's own bytes
of them are in tests/golden/wire.jsonl."""
KNOWN_TO_THE_OTHER = [
    (structure, version)
    for api in APIS.values()
    for version in api.versions
    for structure in (api.request, api.response)
    if (api.key, version) not in UNKNOWN_TO_THE_OTHER
]
few = settings(max_examples=examples(8, least=2))  # of some 200 messages, in four tests


def present(message: dict[str, Any], within: dict[str, Any]) -> dict[str, Any]:
    """`message` cut to the fields that `within` names."""
    return {name: _cut(message[name], value) for name, value in within.items()}


def _cut(value: Any, like: Any) -> Any:
    if isinstance(like, dict):
        return present(value, like)
    if isinstance(like, list):
        assert len(value) == len(like)
        return [_cut(one, other) for one, other in zip(value, like, strict=True)]
    return value


@every_message
@few
@given(data=st.data())
def test_an_encoded_message_decodes_to_itself(
    structure: Structure, version: int, data: st.DataObject
) -> None:
    message = data.draw(messages(structure, version))
    raw = bytes(encode(structure, version, message))
    read = decode(structure, version, raw)
    assert present(read, message) == message
    assert bytes(encode(structure, version, read)) == raw


@pytest.mark.parametrize(("structure", "version"), KNOWN_TO_THE_OTHER, ids=name_of)
@few
@given(data=st.data())
def test_another_implementation_reads_and_writes_the_same_bytes(
    structure: Structure, version: int, data: st.DataObject
) -> None:
    raw = bytes(encode(structure, version, data.draw(messages(structure, version))))
    api = next(api for api in APIS.values() if structure in (api.request, api.response))
    load = load_request_schema if structure is api.request else load_response_schema
    theirs = load(api.key, version)
    entity, size = entity_reader(theirs)(raw, 0)
    assert size == len(raw)
    out = io.BytesIO()
    entity_writer(theirs)(out, entity)
    assert out.getvalue() == raw


@every_message
@few
@given(data=st.data())
def test_a_cut_message_is_refused_wherever_it_is_cut(
    structure: Structure, version: int, data: st.DataObject
) -> None:
    raw = bytes(encode(structure, version, data.draw(messages(structure, version))))
    for end in range(len(raw)):
        with pytest.raises(DataError):
            decode(structure, version, raw[:end])


@every_message
@few
@given(raw=st.binary(max_size=200))
def test_any_bytes_are_a_message_or_an_error_of_ours(
    structure: Structure, version: int, raw: bytes
) -> None:
    try:
        message = decode(structure, version, raw)
    except DataError as error:
        refused = error
    else:
        assert decode(structure, version, encode(structure, version, message)) == message
        return
    assert refused.position is not None
    assert 0 <= refused.position <= len(raw)


@pytest.mark.parametrize("claimed", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\x7f"])
def test_a_length_field_takes_no_memory(claimed: bytes) -> None:
    def refused() -> None:
        with pytest.raises(TruncatedDataError, match="topics claims"):
            decode(VOTE.request, 0, b"\x00" + claimed)

    assert peak_of(refused) < 100_000


def test_a_message_has_no_more_elements_than_allowed() -> None:
    names = [{"name": ""}] * (MAX_ELEMENTS + 1)
    raw = encode(METADATA.request, 1, {"topics": names})
    with pytest.raises(CorruptDataError, match=f"more than {MAX_ELEMENTS} elements, at topics"):
        decode(METADATA.request, 1, raw)
    raw = encode(METADATA.request, 1, {"topics": names[1:]})
    assert len(decode(METADATA.request, 1, raw)["topics"]) == MAX_ELEMENTS


def test_unknown_tagged_fields_are_stepped_over() -> None:
    raw = bytes(encode(API_VERSIONS.request, 3, {"clientSoftwareName": "x"}))
    assert raw[-1:] == b"\x00"
    grown = raw[:-1] + b"\x02" + b"\x05\x01a" + b"\x90\x4e\x02bc"
    assert decode(API_VERSIONS.request, 3, grown) == decode(API_VERSIONS.request, 3, raw)
    falling = raw[:-1] + b"\x02" + b"\x05\x01a" + b"\x05\x01a"
    with pytest.raises(CorruptDataError, match="tag 5 after tag 5"):
        decode(API_VERSIONS.request, 3, falling)


def test_bytes_after_a_message_are_refused() -> None:
    raw = encode(FETCH.request, 4, {})
    with pytest.raises(CorruptDataError, match="FetchRequest v4 ends 1 bytes before its frame"):
        decode(FETCH.request, 4, raw + b"\x00")


def test_null_is_refused_where_no_version_allows_it() -> None:
    with pytest.raises(CorruptDataError, match="topics has -1 elements"):
        decode(METADATA.request, 0, b"\xff\xff\xff\xff")
    assert decode(METADATA.request, 1, b"\xff\xff\xff\xff")["topics"] is None


def test_text_longer_than_its_length_field_can_say_is_refused() -> None:
    with pytest.raises(CorruptDataError, match="rackId is longer than 32767 bytes"):
        encode(FETCH.request, 11, {"rackId": "x" * 32768})
