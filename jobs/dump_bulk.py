"""The lines of `dump --json` for large files, made by Arrow from the bulk reader's columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from jobs.selection import Selection

MIN_BYTES = 8 * 1024 * 1024
"""Below it, loading the compiled kernels takes longer than the scalar reader needs."""


def pays_off(data: bytes) -> bool:
    """Whether the bulk reader is installed and the file large enough for it."""
    installed = find_spec("numba") is not None and find_spec("pyarrow") is not None
    return len(data) >= MIN_BYTES and installed


def selected(table: Any, selection: Selection) -> Any:
    """The rows of a batch of replica.scan.arrow.scan_records that are asked for."""
    import pyarrow.compute as pc

    bounds = (
        ("offset", pc.greater_equal, selection.from_offset),
        ("offset", pc.less, selection.to_offset),
        ("timestamp", pc.greater_equal, selection.from_time),
        ("timestamp", pc.less, selection.to_time),
        ("leader_epoch", pc.equal, selection.epoch),
    )
    for column, compare, bound in bounds:
        if bound is not None:
            table = table.filter(compare(table[column], bound))
    if selection.types:
        kinds = table["record_type"]
        taken = [kind for kind in pc.unique(kinds).to_pylist() if selection.takes_type(kind)]
        readable_or_taken = pc.or_(
            pc.is_in(kinds, value_set=_strings(taken)), pc.is_valid(table["error"])
        )
        table = table.filter(readable_or_taken)
    return table


def unreadable(table: Any) -> Iterator[tuple[int, int, str]]:
    """(byte of the batch, offset, why) of the rows that did not decode."""
    import pyarrow.compute as pc

    failed = table.filter(pc.is_valid(table["error"]))
    columns = (failed[name].to_pylist() for name in ("position", "offset", "error"))
    yield from zip(*columns, strict=True)


def lines(table: Any, shown: str) -> memoryview:
    """UTF-8 lines, one JSON object for each row that decoded, as dump's scalar path writes them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = table.filter(pc.is_null(table["error"]))
    if table.num_rows == 0:
        return memoryview(b"")

    def text(column: str) -> Any:
        return table[column].cast(pa.string())

    joined = pc.binary_join_element_wise(
        f'{{"file":{json.dumps(shown, ensure_ascii=False)},"offset":',
        text("offset"),
        ',"epoch":',
        text("leader_epoch"),
        ',"timestamp":',
        text("timestamp"),
        ',"type":"',
        table["record_type"],
        '","version":',
        text("record_version"),
        ',"data":',
        table["payload"],
        "}\n",
        "",
    )
    first, last = joined.offset, joined.offset + len(joined)
    _, offsets, characters = joined.buffers()
    ends = memoryview(offsets).cast("i")
    return memoryview(characters)[ends[first] : ends[last]]


def _strings(values: list[str]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())
