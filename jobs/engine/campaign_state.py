"""The file of a campaign's finished runs, with a line of JSON for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from jobs.output import json_text
from replica.errors import UsageError
from replica.simulate.simulation import Fork, Result


def read_done(path: str, events: int) -> dict[int, Result]:
    """The results by their numbers, in the order of the file. Empty where there is no file yet.

    A last line that was cut off when the program stopped is removed. Raises UsageError, which names
    the line, for a line of a campaign with other events.
    """
    if not Path(path).exists():
        return {}
    with Path(path).open("rb+") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        done = {}
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            result = _parsed(line)
            if result is None:
                raise UsageError(
                    f"{path}: line {number}: expected a campaign's result; name a new file"
                )
            if result.events != events:
                raise UsageError(
                    f"{path}: line {number}: {result.events} events, not {events}; name another "
                    "file, or the same --events"
                )
            done[result.number] = result
        file.truncate(whole)
    return done


@contextmanager
def remembering(path: str | None) -> Iterator[Callable[[Result], None]]:
    """Gives a function that remembers a result. When the function returns the result is in the
    file, even if the program is killed then. path None remembers nothing."""
    if path is None:
        yield lambda result: None
        return
    with Path(path).open("a", encoding="utf-8", buffering=1) as file:

        def remember(result: Result) -> None:
            file.write(json_text(asdict(result)) + "\n")

        yield remember


def _parsed(line: bytes) -> Result | None:
    try:
        found = json.loads(line)
        forks = tuple(Fork(*fork) for fork in found.get("forks", ()))
        lists = {name: tuple(found.get(name, ())) for name in ("reached", "counts")}
        result = Result(**{**found, "forks": forks, **lists})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    right = all(isinstance(found.get(name), int) for name in ("seed", "events", "number"))
    return result if right and isinstance(found.get("broken"), str | None) else None
