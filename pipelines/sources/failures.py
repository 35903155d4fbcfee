"""Shows an error of a data source as one line, without the traceback of Spark's Python worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from replica.errors import KraftlakeError

_HIDE = "SPARK_HIDE_TRACEBACK"
"""The variable by which a Python worker of Spark leaves out the traceback of its error."""


@contextmanager
def one_line() -> Iterator[None]:
    """Runs a part of a source or of a function on DataFrames, in a worker of Spark. PySpark then
    shows a KraftlakeError without its traceback. The worker ends with the error, so the variable
    that is set here affects nothing else. Other errors keep their traceback."""
    try:
        yield
    except KraftlakeError:
        os.environ[_HIDE] = "1"
        raise
