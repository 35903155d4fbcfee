"""The tables that replica.scan.kernels.plain_runs.find_run fills."""

from __future__ import annotations

DUES = 512
"""The most batches of one run that get an entry in the index."""
DUE_COLUMNS = 4
"""The fields of replica.format.runs.Due, in their order."""

RUN_POSITION, RUN_EXPECTED, RUN_LATEST, RUN_OFFSET_OF_LATEST = range(4)
RUN_ITEMS = 4
"""The results of the kernel. POSITION, EXPECTED: the position and the base offset of the batch
behind the run. LATEST: the largest timestamp (ms) in the run. OFFSET_OF_LATEST: the last offset of
the first batch that has this timestamp."""
