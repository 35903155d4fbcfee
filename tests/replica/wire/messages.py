"""Messages of every API and version, made from the tables."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from replica.message.primitives import uuid_text
from replica.message.schema import Field, Kind, fields_at
from replica.wire.apis import APIS
from replica.wire.schema import Structure

STRUCTURES = [
    (structure, version)
    for api in APIS.values()
    for structure in (api.request, api.response)
    for version in api.versions
]

_INTS = {Kind.INT8: 7, Kind.INT16: 15, Kind.INT32: 31, Kind.INT64: 63}
_SCALARS: dict[Kind, st.SearchStrategy[Any]] = {
    **{kind: st.integers(-(2**bits), 2**bits - 1) for kind, bits in _INTS.items()},
    Kind.UINT16: st.integers(0, 2**16 - 1),
    Kind.BOOL: st.booleans(),
    Kind.UUID: st.binary(min_size=16, max_size=16).map(uuid_text),
    Kind.STRING: st.text(max_size=8),
    Kind.BYTES: st.binary(max_size=40),
}


def messages(structure: Structure, version: int) -> st.SearchStrategy[dict[str, Any]]:
    """Whole messages. Fields of replica.wire.schema with error codes or times have values with a
    meaning for the other implementation, which refuses all others."""
    return _structs(structure.fields, version)


def _structs(fields: tuple[Field, ...], version: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({f.name: _values(f, version) for f in fields_at(fields, version)})


def _values(field: Field, version: int) -> st.SearchStrategy[Any]:
    if field.name == "errorCode":
        return st.sampled_from([int(code) for code in ErrorCode])
    if field.name.endswith("Ms"):
        return st.integers(0, 2**31 - 1)
    one = _SCALARS.get(field.kind)
    if one is None:
        one = _structs(field.fields, version)
    found = st.lists(one, max_size=2) if field.is_array else one
    return st.none() | found if field.is_nullable(version) else found


def name_of(parameter: object) -> str:
    return parameter.name if isinstance(parameter, Structure) else f"v{parameter}"
