"""What builds a small lake imports no pyspark: the import alone takes a second."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SCRIPT = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(found.name)
    assert "pyspark" not in sys.modules, found.name
print(len(sys.modules))
"""


@pytest.mark.parametrize("package", ["pipelines.in_memory", "pipelines.replay"])
def test_no_module_of_the_package_imports_pyspark(package: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT, package], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 100
