"""What a process of kraftlake imports: nothing from the current folder, which may be a stranger's.

Python puts the current folder first where a module is started by -m or code by -c, as the processes
of multiprocessing and Spark's workers are. A file json.py there would run in the place of Python's.

This module is imported first, and imports only what every Python has loaded before.
"""

import os
import sys

_ROOT = os.path.abspath(os.path.join(__file__, *[os.pardir] * len(__name__.split("."))))
_SAFE_PATH = "PYTHONSAFEPATH"


def leave_out_current_folder() -> None:
    """From now on this process imports nothing from the current folder, and neither does a Python
    that it or Spark's JVM starts. A folder that PYTHONPATH names stays, and so does the checkout
    that holds this code."""
    sys.path[:] = without_current_folder()
    os.environ[_SAFE_PATH] = "1"
    if "PYTHONPATH" in os.environ:
        os.environ["PYTHONPATH"] = os.pathsep.join(_named())


def without_current_folder() -> list[str]:
    """The absolute paths of the folders and zips of sys.path, but for the current folder as above.
    A zip in the current folder stays: Spark names the zip of --py-files so to its workers."""
    here = os.path.realpath(os.curdir)
    stays = any(os.path.realpath(folder) == here for folder in (*_named(), _ROOT))
    return [
        os.path.abspath(folder)
        for folder in map(str, sys.path)
        if folder and (stays or os.path.realpath(folder) != here)
    ]


def _named() -> list[str]:
    """The folders in PYTHONPATH. An empty one, as a colon at an end makes it, is the current
    folder, and nobody has named it."""
    return [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]


def is_current_folder_left_out() -> bool:
    """Whether the Pythons that this process starts leave out the current folder."""
    return sys.flags.safe_path or bool(os.environ.get(_SAFE_PATH))


def python_of(module: str, *words: str) -> list[str]:
    """The words that start a module by the interpreter of this process, without the current
    folder. It takes `environment`, or it would find the code that is installed, and not ours."""
    return [sys.executable, "-P", "-m", module, *words]


def environment() -> dict[str, str]:
    """The environment of this process, for a Python that imports what this process does."""
    path = without_current_folder()
    if _ROOT not in path and os.path.isfile(os.path.join(_ROOT, "pyproject.toml")):
        path.insert(0, _ROOT)  # a checkout that was found by the current folder
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def checkout_path() -> str | None:
    """The PYTHONPATH by which another Python process runs the checkout that holds this code, also
    where another kraftlake is installed; None where this code is not in a checkout."""
    if os.path.isfile(os.path.join(_ROOT, "pyproject.toml")):
        return os.pathsep.join((_ROOT, *_named()))
    return None
