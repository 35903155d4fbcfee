"""Which batches of a large file need a look record by record; all others hold known, sound ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from replica.metadata.log_record import UNREADABLE
from replica.metadata.records import RECORDS

_UNKNOWN = "UNKNOWN_RECORD"


def odd_batches(
    data: bytes | memoryview, *, expected_offset: int | None = None, types: Collection[str] = ()
) -> Iterator[int]:
    """Rising bytes in the file of batches, their CRC right, with a record that doesn't decode, or
    is of an unknown type or version, or of one of `types`. Control batches are not among them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from replica.scan.arrow import RecordScan

    wanted = pa.array((UNREADABLE, _UNKNOWN, *types), pa.string())
    newest = {schema.name: schema.versions[-1] for schema in RECORDS}
    before = -1
    for table in RecordScan(data, expected_offset=expected_offset, with_value=False):
        kinds, versions = table["record_type"], table["record_version"]
        odd = pc.is_in(kinds, value_set=wanted)
        for kind in pc.unique(kinds).to_pylist():
            if kind in newest:
                unknown = pc.and_(pc.equal(kinds, kind), pc.greater(versions, newest[kind]))
                odd = pc.or_(odd, pc.fill_null(unknown, False))
        odd = pc.and_not(odd, table["is_control"])
        if pc.any(odd).as_py():
            for position in pc.unique(table.filter(odd)["position"]).to_pylist():
                if position > before:
                    before = position
                    yield position
