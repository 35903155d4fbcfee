"""The headers of requests and responses.

A request in a flexible version of its API has header v2, with tagged fields; any other request has
header v1. Both headers have the client id as an inflexible string (KIP-482). Header v0, without a
client id, belonged only to ControlledShutdown, which Kafka 4 dropped. A response in a flexible
version has header v1, with tagged fields; any other response has header v0. The response of
ApiVersions always has v0, because a client reads this response before it knows the server's
versions (KIP-511).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from replica.errors import DataError, TruncatedDataError, UnsupportedDataError
from replica.message.primitives import Buffer
from replica.message.schema import FOREVER
from replica.model.kafka_errors import ErrorCode
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.codec import EncodedPieces, decode, decode_prefix, encode, encode_to
from replica.wire.schema import Api, Message, Structure, field

MAX_REQUEST_ELEMENTS = 1_000
"""The most elements of arrays and tagged fields in one request, all arrays together. Larger
requests would take time that elections need. A node serves one partition, so no client needs as
many elements."""
_START = struct.Struct(">hhi")
_UNSUPPORTED_VERSION = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
_HEADERS = range(3)
_CLIENT_ID = field("clientId", "string", since=1, nullable=True, default=None)
# the client id is inflexible even in flexible headers
_REQUEST = Structure("RequestHeader", _HEADERS, FOREVER, (_CLIENT_ID,))
_CORRELATION_ID = field("correlationId", "int32")
_RESPONSE = Structure("ResponseHeader", range(2), 1, (_CORRELATION_ID,))
_TAGS = Structure("RequestHeader", _HEADERS, 0, ())


class UnsupportedVersionError(UnsupportedDataError):
    """A request of a known API in a version that isn't served. The error holds the parts of the
    request that could be read."""

    def __init__(self, api: Api, version: int, correlation_id: int) -> None:
        super().__init__(f"{api} v{version} is not served", 2)
        self.api = api
        self.version = version
        self.correlation_id = correlation_id


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request with the values of its header."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    """The name that the client gives itself; None if the client gives no name."""
    message: Message


def decode_request(
    frame: Buffer,
    served: Mapping[int, range] | None = None,
    apis: Mapping[int, Api] = APIS,
) -> WireRequest:
    """The request in a frame.

    served: the versions that are served, by API key; None for all declared versions.
    apis: the APIs by API key.

    Raises UnsupportedVersionError if the API is served, but not in this version; another DataError
    if the API isn't served, or if the bytes hold no request header.
    """
    if len(frame) < _START.size:
        raise TruncatedDataError(f"a request header needs {_START.size} bytes", 0)
    key, version, correlation_id = _START.unpack_from(frame)
    api = apis.get(key)
    if api is None or (served is not None and key not in served):
        raise UnsupportedDataError(f"API key {key} is not served", 0)
    versions = api.versions if served is None else served[key]
    if version not in versions:
        raise UnsupportedVersionError(api, version, correlation_id)
    flexible = api.is_flexible(version)
    start, at = decode_prefix(_REQUEST, 1, frame, _START.size)
    if flexible:
        _, at = decode_prefix(_TAGS, 2, frame, at, MAX_REQUEST_ELEMENTS)
    message = decode(api.request, version, frame, at, MAX_REQUEST_ELEMENTS)
    return WireRequest(api, version, correlation_id, start["clientId"], message)


def encode_request(request: WireRequest) -> bytes:
    """The frame of a request, without its length."""
    flexible = request.api.is_flexible(request.version)
    out = bytearray(_START.pack(request.api.key, request.version, request.correlation_id))
    out += encode(_REQUEST, 1, {"clientId": request.client_id})
    if flexible:
        out += encode(_TAGS, 2, {})
    out += encode(request.api.request, request.version, request.message)
    return bytes(out)


def response_pieces(api: Api, version: int, correlation_id: int, message: Message) -> list[Buffer]:
    """The frame of a response, without its length, in pieces: large fields aren't copied."""
    out = EncodedPieces()
    header = {"correlationId": correlation_id}
    encode_to(out, _RESPONSE, _response_header(api, version), header)
    encode_to(out, api.response, version, message)
    return out.all()


def correlation_id_of(frame: Buffer) -> int:
    """The correlation id of a response. Raises TruncatedDataError if the frame has too few
    bytes."""
    if len(frame) < 4:
        raise TruncatedDataError("a response header needs 4 bytes", 0)
    return int.from_bytes(frame[:4], "big", signed=True)


def decode_response(api: Api, version: int, frame: Buffer) -> Message:
    """The message of a response. Raises DataError for malformed bytes.

    A server that doesn't know this version of ApiVersions answers in version 0 (KIP-511), usually
    with an error; kafka.tools.TestRaftServer leaves out the error.
    """
    _, at = decode_prefix(_RESPONSE, _response_header(api, version), frame, 0)
    if api is API_VERSIONS and bytes(frame[at : at + 2]) == _UNSUPPORTED_VERSION:
        version = 0
    try:
        return decode(api.response, version, frame, at)
    except DataError:
        if api is not API_VERSIONS or version == 0:
            raise
        return decode(api.response, 0, frame, at)


def _response_header(api: Api, version: int) -> int:
    return int(api is not API_VERSIONS and api.is_flexible(version))
