"""The types that contracts name, read from Spark's DDL: pyspark's own reader asks a JVM."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
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
_TOKEN = re.compile(r"\s*(?P<name>\w+)|\s*(?P<mark>[<>:,])")


def data_type(ddl: str) -> DataType:
    """The type of DDL such as "array<struct<start:bigint,end:bigint>>".

    ValueError: the text is no such type, or names one that no contract has.
    """
    reader = _Reader(ddl)
    found = reader.type()
    reader.end()
    return found


class _Reader:
    """Reads one type after another from the left."""

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._at = 0

    def type(self) -> DataType:
        """The type that begins here."""
        name = self._next("name")
        if name == "array":
            self._expect("<")
            element = self.type()
            self._expect(">")
            return ArrayType(element)
        if name == "map":
            self._expect("<")
            key = self.type()
            self._expect(",")
            value = self.type()
            self._expect(">")
            return MapType(key, value)
        if name == "struct":
            return self._struct()
        if name not in _SIMPLE:
            raise self._refusal()
        return _SIMPLE[name]()

    def end(self) -> None:
        """ValueError where something is left."""
        if self._ddl[self._at :].strip():
            raise self._refusal()

    def _struct(self) -> StructType:
        self._expect("<")
        fields = []
        mark = ","
        while mark == ",":
            name = self._next("name")
            self._expect(":")
            fields.append(StructField(name, self.type()))
            mark = self._next("mark")
        if mark != ">":
            raise self._refusal()
        return StructType(fields)

    def _expect(self, mark: str) -> None:
        if self._next("mark") != mark:
            raise self._refusal()

    def _next(self, group: str) -> str:
        found = _TOKEN.match(self._ddl, self._at)
        if found is None or found[group] is None:
            raise self._refusal()
        self._at = found.end()
        return str(found[group])

    def _refusal(self) -> ValueError:
        return ValueError(f"{self._ddl!r}: no type that a table of a lake has, at {self._at}")
