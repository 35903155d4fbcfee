"""One unit of a stage, done in a task of Spark or in a thread or process of this machine."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replica.errors import KraftlakeError


class TaskError(Exception):
    """An error of a task that isn't a KraftlakeError. Its text is the text of the error, with the
    error's type. remote: the traceback in the task's process."""

    def __init__(self, text: str, remote: str) -> None:
        super().__init__(text, remote)  # pickle makes a copy by these arguments
        self.text, self.remote = text, remote

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Attempted:
    """The result of a unit, or the error with which it failed."""

    number: int
    """The unit's number in its stage."""
    result: Any
    """The unit's result; None where the unit failed."""
    error: Exception | None
    """A KraftlakeError, OSError or TaskError; None where the unit succeeded."""


def attempt(function: Callable[[Any], Any], number: int, unit: Any) -> Attempted:
    """Runs the function on the unit. An error of the function is returned as a value: if it were
    raised, Spark would hide it in the stack trace of its own error."""
    result: Any = None
    failure: Exception | None = None
    try:
        result = function(unit)
    except (KraftlakeError, OSError) as error:
        failure = error
    except Exception as error:  # noqa: BLE001 - the driver raises it
        failure = TaskError(f"{type(error).__name__}: {error}", traceback.format_exc())
    return Attempted(number, result, failure)
