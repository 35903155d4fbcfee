"""A sentence names the last offset that it speaks of, or calls an end (exclusive) an end offset.
Else a reader takes the end for a record, and two commands seem to name two places for one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.test_tidy import REPOSITORY, TOP_LEVEL, python_files
from tests.architecture.trees import nodes_of

OF_REPLICAS = tuple(
    f"replica/{name}/" for name in ("raft", "host", "node", "storage", "simulate", "message")
)
"""The folders whose lines only tell of a replica's own log: each position in them is an end."""
IS_END = re.compile(r"(?:^|[._])(?:end|next)(?:_offset|_before|_now)?(?:\.offset)?$")
IS_PLACE = re.compile(r"\b(?:at|to|(?<!replaying )(?<!--at-)offset|offsets)[ ]$")
IS_CALLED_END = re.compile(r"\bend offset(?: is| was| of)? $")


OF_OTHER_THINGS = ("replica/words.py", "replica/metadata/variant_reader.py")
"""Modules whose ends are those of times and bytes."""


def ends_that_read_as_records(text: str) -> Iterator[int]:
    for node in nodes_of(text):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                is_end = IS_END.search(ast.unparse(part.value)) and IS_PLACE.search(before)
                if is_end and not IS_CALLED_END.search(before):
                    yield part.lineno
            before += part.value if isinstance(part, ast.Constant) else "{}"


def test_a_sentence_that_names_an_end_as_a_place_is_seen() -> None:
    assert [*ends_that_read_as_records('f"at offset {cluster.end_offset}"')] == [1]
    assert [*ends_that_read_as_records('f"it ends at " f"{end.offset} now"')] == [1]
    said = 'f"up to offset {end_offset - 1}, log end offset {end_offset}"'
    assert [*ends_that_read_as_records(said)] == []


def test_no_sentence_names_an_end_as_if_it_were_a_record() -> None:
    found = [
        f"{path}:{line}"
        for one in python_files(REPOSITORY, *TOP_LEVEL)
        if not (path := str(one.relative_to(REPOSITORY))).startswith(
            (*OF_REPLICAS, *OF_OTHER_THINGS)
        )
        for line in ends_that_read_as_records(one.read_text(encoding="utf-8"))
    ]

    assert found == []
