"""The process that compiles: what it says, and what its failure looks like."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from replica.errors import KraftlakeError, UsageError
from replica.installation import line_that_adds
from replica.scan import compiler

_ROOT = Path(__file__).parents[3]


def test_a_kernel_s_compilation_is_announced_by_a_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        image = compiler.compile_kernel("gather_values")
    assert image[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    (record,) = caplog.records
    assert record.getMessage() == (
        "compiling the bulk reader's gather_values for this CPU, once: some seconds"
    )


def test_a_compiler_that_fails_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here numba can't be imported, as a broken installation's can't."""
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('numba is broken')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KraftlakeError) as caught:
        compiler.compile_kernel("gather_values")
    assert str(caught.value) == (
        "gather_values doesn't compile on this machine: ImportError: numba is broken"
    )


def test_without_numba_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.path = [p for p in sys.path if 'site-packages' not in p];"
        "from replica.scan.compiler import compile_kernel; compile_kernel('gather_values')"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=_ROOT, capture_output=True, text=True
    )
    expected = f"{UsageError.__name__}: the bulk reader needs numba: {line_that_adds('scan')}"
    assert expected in done.stderr


def test_a_kernel_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KraftlakeError, match="no_kernel doesn't compile on this machine"):
        compiler.compile_kernel("no_kernel")


def test_the_command_that_compiles_everything_fails_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('numba is broken')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CPU_NAME": "x-no-such"}
    done = subprocess.run(
        [sys.executable, "-m", "replica.scan.compiling"],
        cwd=_ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("kraftlake: ")
    assert last.endswith("doesn't compile on this machine: ImportError: numba is broken")
    assert "Traceback" not in done.stderr
