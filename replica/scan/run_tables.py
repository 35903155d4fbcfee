"""The tables that replica.scan.kernels.plain_runs.find_run fills."""

from __future__ import annotations

DUES = 512
"""The most batches with an entry in the index that one run has."""
DUE_COLUMNS = 4
"""The fields of replica.format.runs.Due, in their order."""

RUN_POSITION, RUN_EXPECTED, RUN_LATEST, RUN_OFFSET_OF_LATEST = range(4)
RUN_ITEMS = 4
"""What the kernel tells of a run: the position and the base offset of the batch behind it, its
largest timestamp (ms), and the last offset of the first batch that has this timestamp."""
