"""The verdicts of check on directories, for the report of a lake that was made of them."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.cli.directories.given_rounds import rounds_in
from jobs.cli.directories.what_happened import newest_rounds, newest_verdicts
from jobs.cli.output import ProgressLine
from pipelines.cyclic_garbage import no_search_for_cycles
from replica.doctor.verdict.verdict import Verdict


def verdicts_of(paths: Sequence[str], order: Sequence[str]) -> dict[str, Verdict]:
    """The verdict on each cluster by its newest captures, by cluster id. The directories tell more
    than the lake's tables: which disks were put back, and which folders brokers have set aside.
    Raises KraftlakeError."""
    progress = ProgressLine()
    rounds = rounds_in(paths, order, progress, for_check=True, has_notices=False)
    with no_search_for_cycles(), rounds as given:
        found = newest_verdicts(given, newest_rounds(given.rounds), progress)
        return {one.cluster_id: verdict for one, verdict in found if one.cluster_id is not None}
