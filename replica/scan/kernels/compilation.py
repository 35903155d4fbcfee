"""How numba compiles kernels and the functions that they call.

`inner` marks the functions that kernels call; these functions are compiled into each kernel.

numba compiles an inner function for each set of argument types, and a constant has its own type. A
variable that is passed on therefore starts as `long(0)` instead of 0. Otherwise the called
functions would be compiled twice, the first time for the constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from numba import extending, njit, types

from replica.scan.native import Kernel, Parameter

F = TypeVar("F", bound=Callable[..., Any])

# numba makes no wrappers for Python and C, which halves compile time. Without _nrt it counts no
# references to arrays, which kernels don't need, because they allocate nothing.
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
    """Marks a function that kernels call, so that numba compiles it."""
    compiled: F = njit(**_OPTIONS)(function)
    return compiled


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that emits LLVM code, by numba.extending.intrinsic, which has no types of
    its own."""
    emitter: Callable[..., Any] = extending.intrinsic(function)
    return emitter


def signature(parameters: Iterable[Parameter]) -> Any:
    """numba's signature of a kernel with these parameters."""
    return types.int64(*(_TYPES[parameter] for parameter in parameters))


def numba_code(kernel: Kernel, function: Callable[..., Any]) -> str:
    """numba's LLVM code of a kernel, with everything that it calls."""
    dispatcher: Any = njit(signature(kernel.parameters), **_OPTIONS)(function)
    code: str = dispatcher.inspect_llvm(dispatcher.signatures[0])
    return code
