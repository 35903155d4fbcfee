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
