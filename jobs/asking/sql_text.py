"""What a query says without running it: which tables it names, and that it only reads.

A scanner of SQL's words, not a parser: it tells string literals, comments and quoted names apart.
In Spark's literals a backslash escapes, in DataFusion's it doesn't; a query is read both ways.
"""

from __future__ import annotations

import re
from itertools import pairwise

from pipelines.lake import SCHEMAS
from replica.errors import UsageError

_PATTERN = r"""
      (?P<space>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<text>'(?:TEXT)*(?:'|\Z))
    | (?P<quoted>"(?:[^"]|"")*(?:"|\Z)|`(?:[^`]|``)*(?:`|\Z))
    | (?P<word>[^\W\d]\w*)
    | (?P<number>\d\w*)
    | (?P<sign>.)
    """
_TOKENS = tuple(
    re.compile(_PATTERN.replace("TEXT", text), re.VERBOSE | re.DOTALL)
    for text in (r"[^']|''", r"[^'\\]|''|\\.")
)
_READING = {"select", "with", "values", "explain", "describe", "desc", "show", "from", "table"}
_WRITING = {
    ("insert", "into"),
    ("insert", "overwrite"),
    ("insert", "table"),
    ("delete", "from"),
    ("merge", "into"),
}
_EXPLAINING = {"explain", "analyze", "verbose", "extended", "formatted", "cost", "codegen"}
_CHANGING = {"copy", "create", "drop", "alter", "update", "truncate", "optimize", "vacuum"}


def tables_named(query: str) -> tuple[str, ...]:
    """Each `schema.name` of the query that can be a table of a lake, once, in order.

    More than the tables can be in it (an alias called gold and its column), never less.
    """
    found: dict[str, None] = {}
    for tokens in _readings(query):
        after = zip(tokens, tokens[1:], tokens[2:], strict=False)
        for (_, schema), (_, dot), (kind, name) in after:
            if dot == "." and schema.lower() in SCHEMAS and kind in ("word", "quoted"):
                found[f"{schema.lower()}.{name if kind == 'quoted' else name.lower()}"] = None
    return tuple(found)


def lists_tables(query: str) -> bool:
    """Whether the query is a SHOW, which must see every table."""
    tokens = _readings(query)[0]
    return bool(tokens) and tokens[0][1].lower() == "show"


def check_reads_only(query: str) -> None:
    """UsageError for a query that is empty or would write: the tables are `build`'s to change."""
    for tokens in _readings(query):
        words = [text.lower() for kind, text in tokens if text and text != "("]
        if not words:
            raise UsageError("the query is empty: give one SELECT statement")
        pairs = set(pairwise(words))
        explained = next((word for word in words if word not in _EXPLAINING), "")
        if words[0] not in _READING or pairs & _WRITING or explained in _CHANGING:
            raise UsageError(
                f"sql only reads: a query starts with SELECT, WITH, SHOW, DESCRIBE or EXPLAIN and "
                f"changes nothing, this one starts with {words[0].upper()}"
            )


def _readings(query: str) -> tuple[list[tuple[str, str]], ...]:
    """The query's tokens, in DataFusion's reading and in Spark's."""
    return tuple(_tokens(query, pattern) for pattern in _TOKENS)


def _tokens(query: str, pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """(kind, text) of all but blanks and comments; quoted names without their quotes."""
    tokens = []
    for match in pattern.finditer(query):
        kind, text = match.lastgroup or "sign", match.group()
        if kind == "quoted":
            text = text[1:-1].replace(text[0] * 2, text[0])
        elif kind == "text":
            text = ""
        if kind != "space":
            tokens.append((kind, text))
    return tokens
