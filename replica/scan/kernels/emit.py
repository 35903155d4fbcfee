"""Makes the object file of a kernel: numba's code behind a C function, optimized as a whole for one
CPU.

    python -m replica.scan.kernels.emit NAME      writes the object file to stdout

By default numba optimizes each function that a kernel calls, with everything that this function
calls, and makes machine code of it. That takes most of numba's time, and the result is not used. So
replica.scan.compiler turns numba's optimization off by NUMBA_OPT=0, and this module optimizes the
whole kernel once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from llvmlite import binding

from replica.scan.compiled import KERNELS
from replica.scan.kernels.compilation import numba_code
from replica.scan.native import ITEM_TYPES, Kernel, Parameter
from replica.scan.target import CpuTarget, host

_OPTIMIZATION = 3


def object_file(kernel: Kernel, function: Callable[..., Any], target: CpuTarget) -> bytes:
    """The object file of a kernel, which exports kernel.name. function: the kernel's Python
    function."""
    module = _behind_c(kernel, binding.parse_assembly(numba_code(kernel, function)))
    machine = target_machine(target)
    _optimize(module, machine)
    left = [f.name for f in (*module.functions, *module.global_variables) if f.is_declaration]
    left = [name for name in left if not name.startswith("llvm.")]
    assert not left, f"{kernel.name} allocates or raises: it calls {', '.join(left)}"
    image: bytes = machine.emit_object(module)
    return image


def target_machine(target: CpuTarget) -> Any:
    """LLVM's code generator for a CPU; position-independent, to be linked anywhere in memory."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=_OPTIMIZATION, reloc="pic"
    )


def _behind_c(kernel: Kernel, module: Any) -> Any:
    """The module with a C function around numba's function. Only the C function is visible
    outside."""
    defined = [f for f in module.functions if not f.is_declaration]
    (called,) = [f for f in defined if f.linkage == binding.Linkage.external]
    called_name = called.name
    for part in (*defined, *module.global_variables):
        if not part.is_declaration:
            part.linkage = binding.Linkage.internal
    return binding.parse_assembly(f"{module}\n{_c_function(kernel, called_name)}")


def _c_function(kernel: Kernel, called: str) -> str:
    """The text of the C function. The C function takes each array as two arguments: the array's
    address and its number of items.

    numba's function returns a status, and its result through a pointer. numba's function takes each
    array as these arguments: owner and parent (none), number of items, their size, address and, for
    the one dimension, number of items and stride. `raised` doesn't exist: if a status other than 0
    is possible, the call of `raised` remains after optimization, and is found.
    """
    takes: list[str] = []
    gives: list[str] = ["ptr %result", "ptr %raised"]
    for k, parameter in enumerate(kernel.parameters):
        if parameter is Parameter.LONG:
            takes.append(f"i64 %n{k}")
            gives.append(f"i64 %n{k}")
        else:
            size = f"i64 {ITEM_TYPES[parameter].itemsize}"
            takes += (f"ptr %p{k}", f"i64 %n{k}")
            gives += ("ptr null", "ptr null", f"i64 %n{k}", size, f"ptr %p{k}", f"i64 %n{k}", size)
    return "\n".join(
        (
            "declare void @raised()",
            f"define i64 @{kernel.name}({', '.join(takes)}) {{",
            "  %result = alloca i64",
            "  %raised = alloca ptr",
            f'  %status = call i32 @"{called}"({", ".join(gives)})',
            "  %is_fine = icmp eq i32 %status, 0",
            "  br i1 %is_fine, label %fine, label %failed",
            "failed:",
            "  call void @raised()",
            "  unreachable",
            "fine:",
            "  %value = load i64, ptr %result",
            "  ret i64 %value",
            "}",
        )
    )


def _optimize(module: Any, machine: Any) -> None:
    module.verify()
    tuning = binding.create_pipeline_tuning_options(speed_level=_OPTIMIZATION)
    tuning.loop_vectorization = True
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def main(name: str) -> None:
    """Write the object file of the kernel `name` to stdout."""
    (kernel,) = (kernel for kernel in KERNELS if kernel.name == name)
    module = import_module(f".{kernel.module}", __package__)
    image = object_file(kernel, getattr(module, kernel.name), host())
    sys.stdout.buffer.write(image)


if __name__ == "__main__":
    main(sys.argv[1])
