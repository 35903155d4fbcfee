"""What a table promises: its columns with their types and meaning, and its keys.

A layer function ends in `contract.select(df)`, so that a change of code that would change a table
fails in that function, naming the column, and not in a reader months later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

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
    """The type of DDL such as "array<struct<start:bigint,end:bigint>>".

    ValueError: the text is no such type, or names one that no contract has.
    """
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
    """The parts between commas, but for commas within angle brackets."""
    found, depth = [""], 0
    for sign in inner:
        depth += (sign == "<") - (sign == ">")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return found


_NAME = re.compile(r"(bronze|silver|gold)\.[a-z][a-z0-9_]*")

FEED_RETENTION_DAYS = 30
"""How long a table's changes can be read at least, by its change data feed."""
_CHANGE_FEED = {
    "delta.enableChangeDataFeed": "true",
    # both are needed to read a change: the commit that names it, and the file that holds it
    "delta.logRetentionDuration": f"interval {FEED_RETENTION_DAYS} days",
    "delta.deletedFileRetentionDuration": f"interval {FEED_RETENTION_DAYS} days",
}

_CHECKPOINTS = {"delta.checkpointInterval": "10"}
"""After how many commits a checkpoint is written. It is Spark's default; delta-rs's is 100, and a
reader that opens a table with it reads all commits since the last checkpoint: half a millisecond
each."""

# Casts that can't lose a value: from any earlier to any later type of one row.
_WIDENINGS: tuple[tuple[type[DataType], ...], ...] = (
    (ByteType, ShortType, IntegerType, LongType),
    (FloatType, DoubleType),
)


class ContractError(TypeError):
    """A DataFrame that breaks a table's contract: a bug in the code that built it."""


@dataclass(frozen=True)
class Column:
    """A column of a table. name: its name in SQL. type: its type in Spark's DDL, such as
    "array<int>" or "variant".

    description: one sentence with the unit; it becomes the column's comment in the table. nullable:
    whether a row may lack a value.
    """

    name: str
    type: str
    description: str
    nullable: bool = True

    @cached_property
    def data_type(self) -> DataType:
        """`type`, read from its DDL; no Spark session is needed."""
        return data_type(self.type)

    @property
    def field(self) -> StructField:
        """The column as Spark's schema has it, its description as the comment."""
        return StructField(self.name, self.data_type, self.nullable, {"comment": self.description})


def required(ddl: str, description: str) -> Column:
    """A column that has a value in every row: Delta refuses a row without one. ddl: its name and
    its type, such as "epoch int"."""
    name, _, kind = ddl.partition(" ")
    return Column(name, kind, description, nullable=False)


def optional(ddl: str, description: str) -> Column:
    """A column in which a row may lack a value. ddl: as of `required`."""
    name, _, kind = ddl.partition(" ")
    return Column(name, kind, description)


@dataclass(frozen=True)
class Contract:
    """The contract of one table. name: such as "bronze.captures". keys: the columns that tell one
    row from another.

    change_feed: whether Delta keeps row-level changes for readers of its change data feed. It keeps
    them for FEED_RETENTION_DAYS, and VACUUM obeys that.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    change_feed: bool = False

    def __post_init__(self) -> None:
        # A contract is written by us: a mistake in it is a bug, found at import.
        assert _NAME.fullmatch(self.name), f"{self.name}: not bronze., silver. or gold. and a name"
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
        """The layer: bronze, silver or gold."""
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
        """The whole table, comments in the fields' metadata."""
        return StructType([column.field for column in self.columns])

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Spark gives them to Arrow; a VARIANT is struct<value, metadata>."""
        return to_arrow_schema(self.schema, timezone="UTC")

    def arrow_columns(self, names: Iterable[str]) -> pa.Schema:
        """The columns with these names, in this order, as `arrow_schema` has them."""
        return pa.schema([self.arrow_schema.field(name) for name in names])

    def select(self, df: DataFrame) -> DataFrame:
        """`df` with exactly the contract's columns, in its order and types; others are dropped.

        Only casts that can't lose a value are made: NULL to anything, a whole number or a float to
        a wider one. ContractError names every column that is missing or of another type.
        """
        fields: dict[str, list[StructField]] = {}
        for field in df.schema.fields:
            fields.setdefault(field.name, []).append(field)
        problems: list[str] = []
        selected: list[SparkColumn] = []
        for column in self.columns:
            found = fields.get(column.name, [])
            problem = _problem(column, found)
            if problem:
                problems.append(problem)
            else:
                selected.append(_cast(column, found[0]))
        if problems:
            raise ContractError(f"{self.name}: {'; '.join(problems)}")
        return df.select(*selected)


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


def _same(actual: DataType, wanted: DataType) -> bool:
    """Equal but for nullability, which Spark derives from the plan, and comments."""
    if type(actual) is not type(wanted):
        return False
    if isinstance(actual, ArrayType) and isinstance(wanted, ArrayType):
        return _same(actual.elementType, wanted.elementType)
    if isinstance(actual, MapType) and isinstance(wanted, MapType):
        return _same(actual.keyType, wanted.keyType) and _same(actual.valueType, wanted.valueType)
    if isinstance(actual, StructType) and isinstance(wanted, StructType):
        return actual.names == wanted.names and all(
            _same(a.dataType, w.dataType) for a, w in zip(actual, wanted, strict=True)
        )
    if isinstance(actual, StringType):
        return True  # collation and length are no difference in content
    return actual == wanted
