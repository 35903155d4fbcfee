"""A target of the guided fuzzer: one reader of bytes, and the properties that
hold for all bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from replica.errors import DataError, KraftlakeError

TESTS = Path(__file__).parents[2]
DATA = TESTS / "data"


@dataclass(frozen=True)
class Target:
    """A target. name: the name of its folder below build/fuzz. reads, holds: for the record, what
    is read and what must be true of every input. seeds: sound inputs, before mutation. run: reads
    one input, and raises whatever an input must not cause. max_bytes: of one input. words: texts of
    the format, which a mutation may insert."""

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
    """Asserts that the error's text, printed raw, ends no line and doesn't move the terminal."""
    require("\n" not in str(error), f"an error of more than one line: {str(error)!r}")


def refused(error: KraftlakeError, size: int | None = None) -> None:
    """Asserts that the error has one line. size: the bytes of the buffer; the byte in a DataError
    must be below it."""
    one_line(error)
    if size is not None:
        require(isinstance(error, DataError), f"{error!r} is no DataError")
        position = getattr(error, "position", None)
        require(
            position is not None and 0 <= position <= size,
            f"byte {position} of {size}: {error}",
        )


def recorded(pattern: str, most: int = 6, largest: int = 4096) -> list[bytes]:
    """Different contents of recorded files with names of this pattern, the smaller files first."""
    found = {path.read_bytes() for path in DATA.rglob(pattern) if path.is_file()}
    small = sorted((data for data in found if len(data) <= largest), key=lambda d: (len(d), d))
    step = max(len(small) // most, 1)
    return small[::step][:most]
