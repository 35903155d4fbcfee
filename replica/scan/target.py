"""The CPU for which kernels are compiled."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

from llvmlite import binding


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """A CPU as LLVM names it."""

    triple: str
    cpu: str
    features: str
    """The features of the CPU as LLVM names them, such as `+sse4.2,-avx512f`."""

    def has(self, feature: str) -> bool:
        """Whether this CPU has the feature's instructions."""
        return f"+{feature}" in self.features.split(",")


@cache
def host() -> CpuTarget:
    """This machine's CPU, or the CPU that NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name, as in
    numba."""
    triple = binding.get_process_triple()
    name = os.environ.get("NUMBA_CPU_NAME", "")
    features = os.environ.get("NUMBA_CPU_FEATURES", "")
    if name or features:
        return CpuTarget(triple, name or binding.get_host_cpu_name(), features)
    try:
        found = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM can't find it out on this platform.
        found = ""
    return CpuTarget(triple, binding.get_host_cpu_name(), found)
