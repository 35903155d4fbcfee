"""A target of the guided fuzzer: one reader of bytes, and what must hold for all bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from replica.errors import DataError, KraftlakeError

TESTS = Path(__file__).parents[2]
DATA = TESTS / "data"


@dataclass(frozen=True)
class Target:
    """name: of its folder below build/fuzz. reads, holds: for the record, what is read and what
    must be true of every input. seeds: sound inputs, before mutation. run: reads one input, and
    raises whatever an input must not cause. max_bytes: of one input. words: texts that the format
    knows, which a mutation may put in."""

    name: str
    reads: str
    holds: str
    seeds: Callable[[], Iterable[bytes]]
    run: Callable[[bytes], None]
    max_bytes: int = 4096
    words: tuple[str, ...] = ()


class FoundError(AssertionError):
    """A property that doesn't hold."""


def require(holds: object, what: str) -> None:
    if not holds:
        raise FoundError(what)


def one_line(error: KraftlakeError) -> None:
    """A user's line: it neither ends one nor moves the terminal where it is printed raw."""
    require("\n" not in str(error), f"an error of more than one line: {str(error)!r}")


def refused(error: KraftlakeError, size: int | None = None) -> None:
    """error: of one line. size: of the buffer, in which the byte of a DataError must lie."""
    one_line(error)
    if size is not None:
        require(isinstance(error, DataError), f"{error!r} is no DataError")
        position = getattr(error, "position", None)
        require(
            position is not None and 0 <= position <= size,
            f"byte {position} of {size}: {error}",
        )


def recorded(pattern: str, most: int = 6, largest: int = 4096) -> list[bytes]:
    """Different contents of recorded files of such a name, the smaller ones first."""
    found = {path.read_bytes() for path in DATA.rglob(pattern) if path.is_file()}
    small = sorted((data for data in found if len(data) <= largest), key=lambda d: (len(d), d))
    step = max(len(small) // most, 1)
    return small[::step][:most]
