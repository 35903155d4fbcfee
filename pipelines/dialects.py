"""Text that goes into SQL, by the engine that reads it. All SQL of the project is made by this
module.

A value or a name may come from a stranger's log, folder or lake. `literal` and `identifier` write
it so that the engine reads it back unchanged. tests/architecture refuses SQL that is made of any
other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from replica.errors import UsageError

Sql: TypeAlias = str
"""A piece of SQL: made of constants of this project and of what a dialect wrote."""

_CLUSTER_ID = re.compile(r"[A-Za-z0-9._=+-]{1,100}")
"""Kafka makes 16 random bytes in Base64 for URLs; `kafka-storage format` also takes words."""
_PATTERN = re.compile(r"[*?\[]")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine reads a text between quotes."""

    quote: str
    """The character before and after a quoted name."""
    escapes: bool = False
    """Whether a backslash in a literal begins an escape sequence, as Java has them."""

    def literal(self, value: str | int) -> Sql:
        """The value as a literal. Raises UsageError for a text that no engine's SQL can hold: with
        a zero byte, or half of a surrogate pair."""
        if isinstance(value, int):
            return str(int(value))
        if _NO_TEXT.search(value):
            raise UsageError(f"{value!a}: a text with a zero byte can't be asked for in SQL")
        if self.escapes:
            return "'" + _JAVA_ESCAPED.sub(_java_escape, value) + "'"
        return "'" + value.replace("'", "''") + "'"

    def literals(self, values: Iterable[str | int]) -> Sql:
        """The values as literals with commas between them, to stand within `IN (...)`."""
        return ", ".join(map(self.literal, values))

    def identifier(self, *parts: str) -> Sql:
        """A name of these parts, such as a schema and a table, with a dot between them. No engine
        changes the case of its letters. Raises UsageError for a name that the engine's SQL can't
        write."""
        is_filled_in = self.escapes and any(
            "${" in part for part in parts
        )  # and no escape sequence prevents it
        if is_filled_in or _NO_TEXT.search("".join(parts)):
            raise UsageError(f"{'.'.join(parts)!a}: SQL has no way to write this name")
        quote = self.quote
        return ".".join(f"{quote}{part.replace(quote, quote * 2)}{quote}" for part in parts)

    def table(self, name: str) -> Sql:
        """The name of a table of a lake, such as gold.findings."""
        return self.identifier(*name.split(".", 1))

    def columns(self, names: Iterable[str]) -> Sql:
        """The names as SQL writes them, with commas between them."""
        return ", ".join(map(self.identifier, names))

    def relation(
        self, name: str, columns: Sequence[str], rows: Iterable[Sequence[str | int]]
    ) -> Sql:
        """Rows as a relation with this name, to stand after FROM or JOIN. There is at least one
        row, and each row has a value for each column."""
        each = ", ".join(f"({self.literals(row)})" for row in rows)
        return f"(VALUES {each}) AS {self.identifier(name)} ({self.columns(columns)})"

    def cluster(self, cluster_id: str) -> Sql:
        """The id of a cluster as a literal. Raises UsageError for an id that isn't of Kafka's form:
        such an id may be meant to harm what reads it."""
        if not _CLUSTER_ID.fullmatch(cluster_id):
            raise UsageError(
                f"cluster id {cluster_id!a}: Kafka's ids have letters, digits and ._=+- alone, so "
                "kraftlake asks nothing about this one; `kraftlake forget --cluster` removes it"
            )
        return self.literal(cluster_id)

    def parquet(self, paths: Iterable[str]) -> Sql:
        """DuckDB's function that reads these Parquet files and no others, with their own columns.
        By default it would take * and ? in a path for patterns, and `column=value` for a column."""
        exact = (_PATTERN.sub(r"[\g<0>]", path) for path in paths)
        return f"read_parquet([{self.literals(exact)}], hive_partitioning = false)"

    def of_clusters(self, clusters: Iterable[str]) -> Sql:
        """Condition for the rows of these clusters, whatever their ids are, so that the rows of any
        cluster can be removed. Without clusters no row fulfils it."""
        ids = self.literals(clusters)
        return f"cluster_id IN ({ids})" if ids else "false"


# Spark replaces ${...} in a query before it parses it, so the dollar is escaped, too.
_JAVA_ESCAPED = re.compile(r"[\\'\"$\x01-\x1f\x7f]")


def _java_escape(found: re.Match[str]) -> str:
    return f"\\{found[0]}" if found[0] in "\\'" else f"\\u{ord(found[0]):04x}"


DATA_FUSION = Dialect('"')
"""The engine in delta-rs."""
DUCK_DB = Dialect('"')
SQLITE = Dialect('"')
SPARK = Dialect("`", escapes=True)
"""Spark SQL. Its views in a Hive metastore are text in this dialect, too."""
