"""How kernels, and the functions that they call, are compiled by numba.

`inner` is for the functions that kernels call; they are compiled into each kernel.

numba compiles an inner function for each set of argument types, and a constant has a type of its
own. So a variable that is passed on starts as `long(0)`, not 0: else everything below is compiled
twice, first for the constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from numba import extending, njit, types

from replica.scan.native import Kernel, Parameter

F = TypeVar("F", bound=Callable[..., Any])

# numba makes no wrappers for Python and C, which halves compile time. Without _nrt it counts no
# references to arrays; kernels allocate nothing, so nobody needs the counts.
_OPTIONS = {
    **{"nogil": True, "boundscheck": False, "error_model": "numpy", "_nrt": False},
    **{"no_cpython_wrapper": True, "no_cfunc_wrapper": True},
}
_TYPES = {
    Parameter.INPUT: types.Array(types.uint8, 1, "C", readonly=True),
    Parameter.OUTPUT: types.Array(types.uint8, 1, "C"),
    Parameter.LONGS: types.Array(types.int64, 1, "C"),
    Parameter.LONG: types.int64,
}


def inner(function: F) -> F:
    """Marks a function that kernels call."""
    compiled: F = njit(**_OPTIONS)(function)
    return compiled


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """numba.extending.intrinsic, which has no types: a function that emits LLVM code."""
    emitter: Callable[..., Any] = extending.intrinsic(function)
    return emitter


def signature(parameters: Iterable[Parameter]) -> Any:
    """numba's name of a kernel's parameters and result."""
    return types.int64(*(_TYPES[parameter] for parameter in parameters))


def numba_code(kernel: Kernel, function: Callable[..., Any]) -> str:
    """numba's LLVM code of a kernel, with all that it calls."""
    dispatcher: Any = njit(signature(kernel.parameters), **_OPTIONS)(function)
    code: str = dispatcher.inspect_llvm(dispatcher.signatures[0])
    return code
