"""`kraftlake diff`: two replicas' directories compared, without a lake."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.directories.diff_text import describe
from jobs.directories.difference import as_row, compare_directories
from jobs.directories.examined import examine_one
from jobs.output import complain, write_json, write_line
from jobs.redacting import make_redactor
from replica.format.directory import LOOKS
from replica.history.divergence import Relation
from replica.metadata.log_record import LogRecordReader

_AGREEING = (Relation.IDENTICAL, Relation.PREFIX)


def run(
    a: str, b: str, *, json_output: bool, keep_secrets: bool, show_configs: Sequence[str] = ()
) -> int:
    """Print the comparison of A and B. Returns 0 where they agree as far as both reach, else 1."""
    redactor = make_redactor(keep_secrets, None, show_configs)
    for _ in range(LOOKS):
        difference = compare_directories(examine_one(a), examine_one(b))
        if not (difference.a.changed or difference.b.changed):
            break
    for examined in (difference.a, difference.b):
        for damage in examined.damages:
            complain(str(damage))
    if json_output:
        write_json(as_row(difference))
    else:
        reader = LogRecordReader(redactor)
        for line in describe(difference, reader):
            write_line(line)
    hidden = difference.a.hides_entries or difference.b.hides_entries
    return 0 if difference.divergence.relation in _AGREEING and not hidden else 1
