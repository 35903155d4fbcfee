"""One target under atheris, which libFuzzer steers: started by tests.fuzz.guided.campaign.

    python -m tests.fuzz.guided.worker TARGET FOLDER [-option=value of libFuzzer ...]

FOLDER holds seeds/, corpus/, and found/, where each new kind of exception leaves the input and the
traceback; fuzzing goes on behind it. What ends the process (time, memory, a crash of compiled code)
leaves libFuzzer's own file there.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType

import atheris

_COMPILED_ONCE = ("replica.scan.kernels", "replica.scan.compiler", "replica.scan.compiled")
"""Modules whose code numba reads, so that it must not be instrumented."""


class Findings:
    """The kinds of exceptions, by type and innermost place in the project's code."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[str] = set()

    def keep(self, error: BaseException, data: bytes) -> None:
        kind = f"{type(error).__name__}-{_place(error.__traceback__)}"
        if kind in self._seen:
            return
        self._seen.add(kind)
        self._folder.mkdir(exist_ok=True)
        (self._folder / f"{kind}.bin").write_bytes(data)
        text = "".join(traceback.format_exception(error))
        (self._folder / f"{kind}.txt").write_text(text, "utf-8", "backslashreplace")


def _place(trace: TracebackType | None) -> str:
    """file-line of the innermost frame outside of Python and its packages."""
    frames = traceback.extract_tb(trace)
    ours = [frame for frame in frames if "/lib/python" not in frame.filename] or frames
    return f"{Path(ours[-1].filename).stem}-{ours[-1].lineno}"


def main() -> None:
    name, folder, *options = sys.argv[1:]
    with atheris.instrument_imports(
        include=["replica", "pipelines.capture", "pipelines.feeds"], exclude=list(_COMPILED_ONCE)
    ):
        from tests.fuzz.guided.catalogue import TARGETS

    target, place = TARGETS[name], Path(folder)
    findings = Findings(place / "found")

    def one_input(data: bytes) -> None:
        try:
            target.run(data)
        except (Exception, RecursionError) as error:  # noqa: BLE001 (kept, and told at the end)
            findings.keep(error, data)

    folders = [str(place / "corpus"), str(place / "seeds")]
    atheris.Setup([sys.argv[0], *options, *folders], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
