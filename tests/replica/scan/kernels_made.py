"""Functions compiled for a test: as kernels are, or by numba alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from replica.scan.kernels.compilation import signature
from replica.scan.kernels.emit import object_file
from replica.scan.native import Kernel, Parameter
from replica.scan.target import host


def made(function: Callable[..., Any], *parameters: Parameter) -> Kernel:
    """The function as a kernel: its object file, made in this process and linked into it."""
    kernel = Kernel("no module", function.__name__, *parameters)
    kernel.link(object_file(kernel, function, host()))
    return kernel


def by_numba(function: Callable[..., Any], *parameters: Parameter) -> Callable[..., int]:
    """The function compiled by numba alone, called as numba calls."""
    compiled: Callable[..., int] = numba.njit(
        signature(parameters), nogil=True, boundscheck=False, error_model="numpy"
    )(function)
    return compiled
