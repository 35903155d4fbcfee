"""`dump --json` of large files by the bulk reader: the same lines as by the scalar reader, tens of
times faster.

numpy and the compiled kernels are loaded only when this is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jobs.directories.selection import Selection
from jobs.output import safe_json
from replica.format.byte_source import OpenFile, Source

if TYPE_CHECKING:
    from replica.scan.lines import Choose, LineScan


def line_scan(
    file: OpenFile,
    shown: str,
    expected_offset: int | None,
    selection: Selection,
    *,
    keep_secrets: bool,
) -> LineScan:
    """The selected records of a segment or snapshot as lines."""
    from replica.scan.lines import LineScan

    return LineScan(
        file,
        prefix=line_start(shown).encode("utf-8", "surrogateescape"),
        expected_offset=expected_offset,
        keep_secrets=keep_secrets,
        choose=_choose(selection),
        takes_type=selection.takes_type,
    )


def secret_batches(data: Source, expected_offset: int | None) -> Iterator[int]:
    """The byte positions of the batches that may hold a secret, in rising order."""
    from replica.scan.secret_batches import secret_positions

    return secret_positions(data, expected_offset=expected_offset)


@lru_cache(maxsize=1)
def line_start(shown: str) -> str:
    """The beginning of each JSON line of the file, up to the offset of the record."""
    return f'{{"file":{safe_json(json.dumps(shown, ensure_ascii=False))},"offset":'


def _choose(selection: Selection) -> Choose | None:
    """A function that chooses rows by the bounds of Selection.takes, for whole columns at once.
    None where every row is chosen."""
    import numpy as np

    bounds = [
        (column, compare, bound)
        for column, compare, bound in (
            (0, np.greater_equal, selection.from_offset),
            (0, np.less, selection.to_offset),
            (1, np.greater_equal, selection.from_time),
            (1, np.less, selection.to_time),
            (2, np.equal, selection.epoch),
        )
        if bound is not None
    ]

    def choose(*columns: Any) -> Any:
        return np.logical_and.reduce([compare(columns[k], bound) for k, compare, bound in bounds])

    return choose if bounds else None
