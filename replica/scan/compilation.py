"""How kernels are compiled, and where the machine code is kept.

`kernel` compiles for one explicit signature and keeps the result on disk: a second start loads it.
`inner` is for the functions that kernels call; they are compiled into each kernel.

numba notices a change in a kernel's own file only, and a kernel is made of many files; so the
folder's name holds a digest of all sources. Machine code is unpickled from there, so only folders
of this user are taken: beside the sources where these are ours to write, else the user's cache.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from numba import extending, njit, types

import replica.metadata
from replica import scan

F = TypeVar("F", bound=Callable[..., Any])

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

INPUT = types.Array(types.uint8, 1, "C", readonly=True)
OUTPUT = types.Array(types.uint8, 1, "C")
LONGS = types.Array(types.int64, 1, "C")
LONG = types.int64

_OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}


def has_sse42() -> bool:
    """Whether kernels may use the CPU's CRC-32C instruction."""
    if numba.config.CPU_NAME or numba.config.CPU_FEATURES:  # the user chose another target
        return "+sse4.2" in (numba.config.CPU_FEATURES or "")
    from llvmlite.binding import get_host_cpu_features

    return bool(get_host_cpu_features().get("sse4.2", False))


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """numba.extending.intrinsic, which has no types: a function that emits LLVM code."""
    emitter: Callable[..., Any] = extending.intrinsic(function)
    return emitter


def inner(function: F) -> F:
    """A function for kernels to call; it has no wrapper for Python, which halves compile time."""
    compiled: F = njit(**_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return compiled


def kernel(result: Any, *arguments: Any) -> Callable[[F], F]:
    """A function for Python to call, compiled (or loaded) where it is defined."""

    def compile_it(function: F) -> F:
        folder = cache_folder()
        with _cache_in(folder):
            compiled: F = njit(result(*arguments), cache=folder is not None, **_OPTIONS)(function)
        return compiled

    return compile_it


@cache
def cache_folder() -> Path | None:
    """Where machine code is kept; None where no folder can be written, and nothing is kept."""
    for base in (Path(__file__).parent / "__pycache__", _user_cache()):
        folder = base / f"kernels-{source_digest()}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            return folder
    return None


@cache
def source_digest() -> str:
    """Changes with everything that kernels are compiled from."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {has_sse42()}".encode())
    for package in (scan, replica.metadata):
        for path in sorted(Path(package.__path__[0]).glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if os.path.isabs(configured) else Path("~/.cache").expanduser()
    return base / "kraftlake"


@contextmanager
def _cache_in(folder: Path | None) -> Iterator[None]:
    """numba looks at its setting while it decorates."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = "" if folder is None else str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
