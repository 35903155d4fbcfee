"""A plugin of pytest that runs mutants instead of tests.

First each test runs once, and the plugin notes which of our functions it calls. Then a child of
this process is forked for each mutant. The child puts the mutant's code into the function and runs
the tests that call it, the quickest first, until one fails.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType, FunctionType

import pytest

from tests.mutation.mutants import Mutant

SLOWER = 5
"""The factor by which a test may take longer with a mutant, in processor time, and as many seconds
more. A mutant that takes longer has an endless loop, and counts as found."""
LONGEST_WAIT = 900
"""The seconds by the clock after which a waiting mutant counts as found."""

Called = tuple[str, int]
"""The file and the first line of a function."""


class Judging:
    """The plugin. `verdicts` has for each mutant "killed", "survived" or "no test calls it"."""

    def __init__(self, mutants: list[Mutant], results: Path) -> None:
        self.mutants = mutants
        self.results = results
        self.failed = False
        self.results.touch()  # an interrupted run has already left verdicts in it
        self._paths = {str(Path(mutant.path).resolve()): mutant.path for mutant in mutants}
        self._calls: dict[Called, set[str]] = defaultdict(set)
        self._took: dict[str, float] = {}
        self._now = ""
        self._left_out: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for name, item in items.items():
            self._now = name
            began = time.process_time()
            sys.setprofile(self._note)
            try:
                _run(item)
            finally:
                sys.setprofile(None)
            self._took[name] = time.process_time() - began
            if self.failed:  # it is about speed, or needs what isn't here, so it judges no mutant
                sys.stderr.write(f"{name} fails without any mutant\n")
                self._left_out.add(name)
                self.failed = False
        gc.unfreeze()
        judged = {json.loads(line)[0] for line in self.results.read_text().splitlines()}
        with self.results.open("a") as results:
            for mutant in self.mutants:
                if mutant.name in judged:
                    continue
                verdict = self._judge(mutant, items)
                results.write(json.dumps([mutant.name, mutant.line, verdict]) + "\n")
                results.flush()
        return True

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename in self._paths:
            self._calls[self._paths[code.co_filename], code.co_firstlineno].add(self._now)

    def _judge(self, mutant: Mutant, items: dict[str, pytest.Item]) -> str:
        names = self._calls[mutant.path, mutant.code.co_firstlineno] - self._left_out
        if not names:
            return "no test calls it"
        child = os.fork()
        if child == 0:
            os._exit(self._verdict(mutant, [items[name] for name in sorted(names, key=self._cost)]))
        ends = time.monotonic() + LONGEST_WAIT
        while time.monotonic() < ends:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return "survived" if status == 0 else "killed"
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "killed"

    def _cost(self, name: str) -> tuple[float, str]:
        return self._took[name], name

    def _verdict(self, mutant: Mutant, items: list[pytest.Item]) -> int:
        """0 if no test fails. Any other end of the child kills the mutant, too."""
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            _put_in(mutant)
            _empty_caches()
            for item in items:
                longest = SLOWER + SLOWER * self._took[item.nodeid]
                signal.setitimer(signal.ITIMER_VIRTUAL, longest)  # ends the process
                _run(item)
                if self.failed:
                    return 1
        except BaseException:  # noqa: BLE001
            return 1
        return 0


def _run(item: pytest.Item) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _put_in(mutant: Mutant) -> None:
    """Gives every function with the replaced code the mutant's code."""
    module = importlib.import_module(".".join(Path(mutant.path).with_suffix("").parts))
    wanted = (str(module.__file__), mutant.code.co_firstlineno, mutant.code.co_name)
    found = 0
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and _place(one.__code__) == wanted:
            one.__code__ = mutant.code
            found += 1
    if not found:
        raise LookupError(f"no function is {mutant.name}")


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name


def _empty_caches() -> None:
    """Empties caches of functions, whose content was computed without the mutant."""
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            name = str(getattr(one, "__module__", ""))
            if name.split(".")[0] in ("replica", "tests"):
                one.cache_clear()
