"""Compiled functions as Python calls them: they take numpy arrays and ints, and return an int.

A kernel's machine code is an object file (ELF, Mach-O). replica.scan.store stores this file, and
LLVM links it into this process in a few milliseconds, without numba. If no file is stored,
replica.scan.compiler makes the file. In the object file an array is two arguments of the C calling
convention: its address and its number of items.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding

from replica.scan import store

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]


class Parameter(Enum):
    """The types of a kernel's parameters. Arrays are one-dimensional and contiguous."""

    INPUT = auto()
    """An array of uint8, which is only read."""
    OUTPUT = auto()
    """An array of uint8."""
    LONGS = auto()
    """An array of int64."""
    LONG = auto()
    """A number of 64 bits."""


ITEM_TYPES: dict[Parameter, np.dtype[Any]] = {
    Parameter.INPUT: np.dtype(np.uint8),
    Parameter.OUTPUT: np.dtype(np.uint8),
    Parameter.LONGS: np.dtype(np.int64),
}
_linking = threading.Lock()
_links = itertools.count()


class Kernel:
    """A function of replica.scan.kernels. The first call, or `load`, loads the machine code.

    Calls release the interpreter's lock. An argument that doesn't fit the signature is a bug of the
    caller, and fails an assertion.
    """

    def __init__(self, module: str, name: str, *parameters: Parameter) -> None:
        """module: the name of a module of replica.scan.kernels. name: the name of a function in
        this module. The function returns a LONG."""
        self.module = module
        self.name = name
        self.parameters = parameters
        self._loading = threading.Lock()
        self._code: Any = None
        self._function: Callable[..., int] | None = None

    def __call__(self, *arguments: Any) -> int:
        function = self._function or self.load()
        flat: list[int] = []
        for parameter, argument in zip(self.parameters, arguments, strict=True):
            if parameter is Parameter.LONG:
                flat.append(int(argument))
            else:
                assert _suits(argument, parameter), f"{self.name}: not {parameter.name}"
                flat += (argument.ctypes.data, argument.size)
        return function(*flat)

    def load(self) -> Callable[..., int]:
        """The function with flat arguments. The function is compiled if no machine code is stored.

        Raises UsageError if the function must be compiled and numba isn't installed, and
        KraftlakeError if the compiler fails.
        """
        with self._loading:
            return self._function or self._linked(store.find(self.name))

    def _linked(self, kept: bytes | None) -> Callable[..., int]:
        if kept is not None:
            try:
                return self.link(kept)
            except RuntimeError:  # LLVM raises this for bytes that are no object file.
                pass
        from replica.scan.compiler import compile_kernel

        image = compile_kernel(self.name)
        store.keep(self.name, image)
        return self.link(image)

    def link(self, image: bytes) -> Callable[..., int]:
        """Link an object file, and return its function, which every later call of the kernel uses.

        Raises RuntimeError if the bytes aren't an object file of this kernel.
        """
        builder = binding.JITLibraryBuilder().add_object_img(image).export_symbol(self.name)
        builder.add_current_process()  # LLVM finds memcpy and the like there.
        with _linking:
            self._code = builder.link(_linker(), f"{self.name}-{next(_links)}")
        kinds: list[Any] = []
        for parameter in self.parameters:
            if parameter is not Parameter.LONG:
                kinds.append(ctypes.c_void_p)
            kinds.append(ctypes.c_int64)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._code[self.name])
        return self._function


def flat(*arrays: npt.NDArray[Any]) -> tuple[int, ...]:
    """Contiguous arrays as arguments of the function of Kernel.load. This function checks nothing,
    and the arrays must live as long as these numbers are used."""
    return tuple(number for one in arrays for number in (one.ctypes.data, one.size))


def _suits(array: Any, parameter: Parameter) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.dtype == ITEM_TYPES[parameter]
        and array.ndim == 1
        and array.flags.c_contiguous
        and (array.flags.writeable or parameter is Parameter.INPUT)
    )


@cache
def _linker() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.create_lljit_compiler(use_jit_link=True)
