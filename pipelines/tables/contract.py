"""The contract of a table: its columns with their types and meaning, and its keys.

What Spark writes goes through `Contract.select`. So code that would change a table by mistake fails
where it writes, with the name of the column, and not in a reader months later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from textwrap import dedent

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # pyspark's own idiom
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

_SIMPLE: Mapping[str, Callable[[], DataType]] = {
    "bigint": LongType,
    "binary": BinaryType,
    "boolean": BooleanType,
    "date": DateType,
    "double": DoubleType,
    "int": IntegerType,
    "string": StringType,
    "timestamp": TimestampType,
    "variant": VariantType,
}
_PARTS = re.compile(r"\s*(\w+)\s*(?:<(.*)>)?\s*", re.DOTALL)


def data_type(ddl: str) -> DataType:
    """The type of DDL such as "array<struct<start:bigint,end:bigint>>". Raises ValueError where the
    text is no type, or a type that no contract has."""
    found = _PARTS.fullmatch(ddl)
    name, inner = ("", None) if found is None else found.groups()
    if name in _SIMPLE and inner is None:
        return _SIMPLE[name]()
    arguments = [] if inner is None else _arguments(inner)
    if name == "array" and len(arguments) == 1:
        return ArrayType(data_type(arguments[0]))
    if name == "map" and len(arguments) == 2:
        key, value = map(data_type, arguments)
        return MapType(key, value)
    if name == "struct" and arguments and all(":" in one for one in arguments):
        fields = (one.split(":", 1) for one in arguments)
        return StructType([StructField(field.strip(), data_type(of)) for field, of in fields])
    raise ValueError(f"{ddl!r}: no type that a table of a lake has")


def _arguments(inner: str) -> list[str]:
    """The parts of the text, split at the commas that aren't within angle brackets."""
    found, depth = [""], 0
    for sign in inner:
        depth += (sign == "<") - (sign == ">")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return found


_NAME = re.compile(r"(bronze|silver|gold|own)\.[a-z][a-z0-9_]*")

FEED_RETENTION_DAYS = 30
"""The least number of days for which a table's changes can be read from its change data feed."""
_CHANGE_FEED = {
    "delta.enableChangeDataFeed": "true",
    # both are needed to read a change: the commit that names it, and the file that holds it
    "delta.logRetentionDuration": f"interval {FEED_RETENTION_DAYS} days",
    "delta.deletedFileRetentionDuration": f"interval {FEED_RETENTION_DAYS} days",
}

_CHECKPOINTS = {"delta.checkpointInterval": "10"}
"""The number of commits after which a checkpoint is written: Spark's default. The default of
delta-rs is 100, and delta-rs reads all commits since the last checkpoint when it opens a table, in
half a millisecond each."""

# Casts that can't lose a value: from a type to any later type of the same row.
_WIDENINGS: tuple[tuple[type[DataType], ...], ...] = (
    (ByteType, ShortType, IntegerType, LongType),
    (FloatType, DoubleType),
)


class ContractError(TypeError):
    """A DataFrame that breaks a table's contract: a bug in the code that built it."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    """The column's name in SQL."""
    type: str
    """The column's type in Spark's DDL, such as "array<int>" or "variant"."""
    description: str
    """One sentence with the unit; it becomes the column's comment in the table."""
    nullable: bool = True
    """Whether a row may lack a value."""

    @cached_property
    def data_type(self) -> DataType:
        """Spark's object for `type`. No Spark session is needed."""
        return data_type(self.type)

    @property
    def field(self) -> StructField:
        """The column in Spark's schema, with the description as its comment."""
        return StructField(self.name, self.data_type, self.nullable, {"comment": self.description})


_COLUMN = re.compile(r"(\w+) (\S+)( null)?: (.+)")


def columns(text: str) -> tuple[Column, ...]:
    """The columns that a text describes. A line has a column's name, type and description:

        crc bigint: the CRC-32C that the batch stores
        last_seen timestamp null: captured_at of the last capture that held the batch; NULL while
            the newest capture holds it

    `null` marks a column in which a row may lack a value. Delta refuses a row without a value in
    another column. A line that is indented continues the description before it.
    """
    found = []
    for line in re.sub(r"\n +", " ", dedent(text).strip()).splitlines():
        parts = _COLUMN.fullmatch(line)
        assert parts is not None, f"{line!r}: no name, type and description"
        name, kind, null, description = parts.groups()
        found.append(Column(name, kind, description, nullable=null is not None))
    return tuple(found)


@dataclass(frozen=True)
class Contract:
    """The contract of one table."""

    name: str
    """The name with the schema, such as "bronze.captures"."""
    description: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    """The columns that identify a row."""
    change_feed: bool = False
    """Whether Delta keeps the changes of rows for readers of its change data feed: for
    FEED_RETENTION_DAYS, also when VACUUM runs."""

    def __post_init__(self) -> None:
        # we write the contracts, so a mistake in one is a bug, which must show at import
        assert _NAME.fullmatch(self.name), (
            f"{self.name}: not bronze., silver., gold. or own., and a name"
        )
        names = sorted(self.column_names)
        twice = [a for a, b in pairwise(names) if a == b]
        assert not twice, f"{self.name}: {twice} more than once"
        unknown = {*self.keys} - set(names)
        assert not unknown, f"{self.name}: keys {sorted(unknown)} are no columns"
        bare = [column.name for column in self.columns if not column.description.strip()]
        assert not bare, f"{self.name}: {bare} without a description"
        assert self.keys, f"{self.name}: no keys"

    @property
    def schema_name(self) -> str:
        """The layer: bronze, silver, gold or own."""
        return self.name.split(".")[0]

    @property
    def table_name(self) -> str:
        """The name without its schema."""
        return self.name.split(".")[1]

    @property
    def properties(self) -> Mapping[str, str]:
        """Delta's table properties."""
        return _CHECKPOINTS | (_CHANGE_FEED if self.change_feed else {})

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in the table's order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def schema(self) -> StructType:
        """Spark's schema of the table, with the comments in the fields' metadata."""
        return StructType([column.field for column in self.columns])

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Spark gives them to Arrow; a VARIANT is struct<value, metadata>."""
        return to_arrow_schema(self.schema, timezone="UTC")

    def arrow_columns(self, names: Iterable[str]) -> pa.Schema:
        """The columns with these names, in this order, as `arrow_schema` has them."""
        return pa.schema([self.arrow_schema.field(name) for name in names])

    def select(self, df: DataFrame) -> DataFrame:
        """The DataFrame with exactly the contract's columns, in its order and types.

        Only casts that can't lose a value are made: NULL to any type, and a number to a wider one.
        Raises ContractError, which names every column that is missing or of another type.
        """
        fields: dict[str, list[StructField]] = {}
        for field in df.schema.fields:
            fields.setdefault(field.name, []).append(field)
        told = (_problem(column, fields.get(column.name, [])) for column in self.columns)
        problems = [problem for problem in told if problem is not None]
        if problems:
            raise ContractError(f"{self.name}: {'; '.join(problems)}")
        return df.select(*(_cast(column, fields[column.name][0]) for column in self.columns))


def _problem(column: Column, found: list[StructField]) -> str | None:
    if not found:
        return f"column {column.name} is missing"
    if len(found) > 1:
        return f"column {column.name} is there {len(found)} times"
    wanted, actual = column.data_type, found[0].dataType
    if _same(actual, wanted) or _widens(actual, wanted):
        return None
    return f"column {column.name} is {actual.simpleString()}, not {wanted.simpleString()}"


def _cast(column: Column, found: StructField) -> SparkColumn:
    quoted = F.col(f"`{column.name}`")
    if _same(found.dataType, column.data_type):
        return quoted
    return quoted.cast(column.data_type).alias(column.name)


def _widens(actual: DataType, wanted: DataType) -> bool:
    if isinstance(actual, NullType):
        return True
    return any(
        type(actual) in row
        and type(wanted) in row
        and row.index(type(actual)) < row.index(type(wanted))
        for row in _WIDENINGS
    )


_COLLATION = re.compile(r" collate \w+")


def _same(actual: DataType, wanted: DataType) -> bool:
    """Whether the types are equal. Comments and collations don't count, nor does nullability, which
    Spark derives from the plan."""
    return _COLLATION.sub("", actual.simpleString()) == wanted.simpleString()
