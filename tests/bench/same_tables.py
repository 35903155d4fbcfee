"""Whether two lakes hold the same rows: `python -m tests.bench.same_tables LAKE OTHER`.

Use it for a change of the code that must leave every table as it is, row for row. Build one lake by
the old code and one by the new code, from the same captures with the same --captured-at. Give the
second lake the _redaction.key of the first.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial

import pyarrow as pa
from deltalake import QueryBuilder

from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.lake.equality import OF_A_RUN
from pipelines.lake.tables import tables_of

tell = partial(print, file=sys.stdout)


def rows(lake: str, table: str) -> Counter[str]:
    """The table's rows as text, and how often each row occurs."""
    opened = open_if_there(Lake(lake), table)
    assert opened is not None, f"{lake} has no {table}"
    found = pa.table(QueryBuilder().register("t", opened).execute("SELECT * FROM t").read_all())
    return Counter(repr(sorted(row.items())) for row in found.to_pylist())


def main(one: str, other: str) -> int:
    """Prints how the tables differ. Returns 1 where a table differs, else 0."""
    of_a_run = {contract.name for contract in OF_A_RUN}
    names = {lake: set(tables_of(Lake(lake))) - of_a_run for lake in (one, other)}
    for lake, missing in ((one, names[other] - names[one]), (other, names[one] - names[other])):
        if missing:
            tell(f"{lake} has no {', '.join(sorted(missing))}")
    differ = names[one] != names[other]
    for table in sorted(names[one] & names[other]):
        before, after = rows(one, table), rows(other, table)
        gone, new = before - after, after - before
        differ = differ or bool(gone or new)
        tell(f"{table}: {before.total()} rows, {gone.total()} gone, {new.total()} new")
        for sign, some in (("-", gone), ("+", new)):
            for row in list(some)[:2]:
                tell(f"  {sign} {row[:300]}")
    return int(differ)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
