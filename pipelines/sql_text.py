"""What a query names, found without running it.

This is a scanner of SQL's words, not a parser: it distinguishes string literals, comments and
quoted names. In Spark's literals a backslash escapes, in DataFusion's it doesn't, so each query is
read both ways. Whether a query only reads is not judged here, but by each engine's own plan of it.
"""

from __future__ import annotations

import re

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


def tables_named(query: str) -> tuple[str, ...]:
    """Each `schema.name` in the query that may be a table of a lake, once, in order.

    There may be names of other things among them (an alias called gold and its column), but no
    table is missing.
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


def runs_to_explain(query: str) -> bool:
    """Whether the query may be an EXPLAIN ANALYZE, which runs what it explains."""
    words = [text.lower() for text in _words(query)]
    return words[:1] == ["explain"] and "analyze" in words


def check_not_empty(query: str) -> None:
    """Raises UsageError for a query without a word."""
    if not _words(query):
        raise UsageError("the query is empty: give one SELECT statement")


def writes(what: str) -> UsageError:
    """The error for a query that would do more than read. what: the engine's name for the query's
    plan; "" if it gives none."""
    return UsageError(
        "sql only reads: a query is one SELECT, WITH, VALUES, SHOW, DESCRIBE or EXPLAIN of these; "
        f"the engine takes this one for {what or 'something else'}"
    )


def _words(query: str) -> list[str]:
    return [text for kind, text in _readings(query)[0] if text and text not in "(;"]


def _readings(query: str) -> tuple[list[tuple[str, str]], ...]:
    """The query's tokens, as DataFusion reads it and as Spark reads it."""
    return tuple(_tokens(query, pattern) for pattern in _TOKENS)


def _tokens(query: str, pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """(kind, text) of everything except blanks and comments. Quoted names come without their
    quotes."""
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
