"""The own tables of installed packages: entry points of the group kraftlake.tables. Each entry
point names a PackageTable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pyarrow as pa
from pyarrow.dataset import Dataset

from pipelines.own_tables.errors import OwnTableError
from pipelines.own_tables.own_table import OwnTable, checked_name, checked_reads, contract_of
from pipelines.own_tables.sql_files import expectations_of
from pipelines.tables.contract import columns

GROUP = "kraftlake.tables"
Function = Callable[[Mapping[str, pa.Table]], pa.Table]


@dataclass(frozen=True)
class PackageTable:
    """A table that a package adds to a lake, as own.NAME."""

    name: str
    """The name without `own.`, such as busy_nodes."""
    description: str
    columns: str
    """A line for each column, with its name, type and description, such as
    "node_id int: the broker". "int null" is the type of a column that a row may lack."""
    keys: Sequence[str]
    """The columns that identify a row."""
    reads: Sequence[str]
    """The tables of silver and gold from which the own table is made, such as gold.findings."""
    function: Function
    """Makes the rows from the tables in `reads`, which it gets by name. It runs in any process of
    any machine."""
    expect_stop: Sequence[str] = ()
    """SQL conditions of DataFusion: where a row doesn't fulfil one, the table isn't written."""
    expect_warn: Sequence[str] = ()
    """SQL conditions of DataFusion: rows that don't fulfil one are recorded as a warning."""


@dataclass(frozen=True)
class PackageRows:
    """The rows of a package's function, which a task finds by the entry point."""

    name: str
    value: str
    """The value of the entry point, such as my_package.tables:BUSY_NODES."""

    def of(self, tables: Mapping[str, Dataset]) -> pa.Table:
        """The rows. Raises OwnTableError where the entry point is no PackageTable, or its function
        gives no pyarrow.Table; and whatever the function raises."""
        found = _loaded(EntryPoint(self.name, self.value, GROUP))
        answer = found.function({name: rows.to_table() for name, rows in tables.items()})
        if not isinstance(answer, pa.Table):
            raise OwnTableError(f"its function gives a {type(answer).__name__}, no pyarrow.Table")
        return answer


def package_tables() -> tuple[list[OwnTable], list[str]]:
    """The tables of all installed packages, and a line for each entry point that names no table."""
    tables, problems = [], []
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        package = point.dist.name if point.dist is not None else point.module
        version = point.dist.version if point.dist is not None else ""
        place = f"package {package} ({point.name})"
        try:
            tables.append(_table(point, place, version))
        except OwnTableError as error:
            problems.append(f"{place}: {error}")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - of code that isn't ours
            problems.append(f"{place}: {type(error).__name__}: {' '.join(str(error).split())}")
    return tables, problems


def _loaded(point: EntryPoint) -> PackageTable:
    found = point.load()
    if not isinstance(found, PackageTable):
        raise OwnTableError(f"{point.value} is a {type(found).__name__}, no kraftlake.PackageTable")
    return found


def _table(point: EntryPoint, place: str, version: str) -> OwnTable:
    found = _loaded(point)
    name, keys = checked_name(found.name), (*found.keys,)
    try:
        declared = columns(found.columns)
        contract = contract_of(name, found.description, declared, keys)
        contract.schema  # noqa: B018 - raises ValueError for a type that no table has
    except (AssertionError, ValueError) as error:
        raise OwnTableError(f"its columns: {error}") from error
    odd = [one.name for one in contract.columns if one.data_type.typeName() == "variant"]
    if odd:
        raise OwnTableError(f"column {odd[0]} is a VARIANT, which no own table has")
    told = (found.description, found.columns, keys, found.reads, found.expect_stop)
    digest = sha256(repr((version, point.value, told, found.expect_warn)).encode())
    digest.update(_code_of(found.function))
    return OwnTable(
        name,
        place,
        found.description,
        keys,
        checked_reads([*found.reads]),
        PackageRows(point.name, point.value),
        digest.hexdigest(),
        {},
        expectations_of(found.expect_stop, found.expect_warn, keys),
        declared,
    )


def _code_of(function: Function) -> bytes:
    """The source of the function's module, because an editable installation keeps its version when
    its code changes. b"" where it can't be read."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    file = getattr(module, "__file__", None)
    try:
        return b"" if file is None else Path(file).read_bytes()
    except OSError:
        return b""
