"""Keeps a process of kraftlake from importing code of the current folder, which may be a
stranger's.

Python searches the current folder first if a module is started by -m or code by -c, as in processes
of multiprocessing and Spark's workers. A file json.py there would run instead of Python's module.

This module is imported first, and imports only modules that every Python has loaded already.
"""

import os
import sys

_ROOT = os.path.abspath(os.path.join(__file__, *[os.pardir] * len(__name__.split("."))))
_SAFE_PATH = "PYTHONSAFEPATH"


def leave_out_current_folder() -> None:
    """Let this process, and each Python that it or Spark's JVM starts, import nothing from the
    current folder. Folders that PYTHONPATH names can still be imported from, and so can the
    checkout that holds this code."""
    sys.path[:] = without_current_folder()
    os.environ[_SAFE_PATH] = "1"
    if "PYTHONPATH" in os.environ:
        os.environ["PYTHONPATH"] = os.pathsep.join(_named())


def without_current_folder() -> list[str]:
    """The absolute paths of the folders and zips of sys.path, without the current folder, unless
    PYTHONPATH names that folder or it holds this code. A zip in the current folder stays, because
    Spark gives its workers the zip of --py-files by such a path."""
    here = os.path.realpath(os.curdir)
    stays = any(os.path.realpath(folder) == here for folder in (*_named(), _ROOT))
    return [
        os.path.abspath(folder)
        for folder in map(str, sys.path)
        if folder and (stays or os.path.realpath(folder) != here)
    ]


def _named() -> list[str]:
    """The folders that PYTHONPATH names. An empty part, as after a colon at the end, is left out:
    for Python it means the current folder, but the user has not named this folder."""
    return [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]


def is_current_folder_left_out() -> bool:
    """Whether a Python that this process starts imports nothing from the current folder."""
    return sys.flags.safe_path or bool(os.environ.get(_SAFE_PATH))


def python_of(module: str, *words: str) -> list[str]:
    """The command line that runs a module by the interpreter of this process, without the current
    folder. words: the module's arguments. The process has to get the variables of `environment`;
    otherwise it would import the installed code instead of this code."""
    return [sys.executable, "-P", "-m", module, *words]


def environment() -> dict[str, str]:
    """The environment variables for a Python that imports from the same paths as this process."""
    path = without_current_folder()
    if _ROOT not in path and os.path.isfile(os.path.join(_ROOT, "pyproject.toml")):
        path.insert(0, _ROOT)  # a checkout that was found through the current folder
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def checkout_path() -> str | None:
    """The PYTHONPATH with which another Python process runs the checkout that holds this code, even
    if another kraftlake is installed; None if this code isn't in a checkout."""
    if os.path.isfile(os.path.join(_ROOT, "pyproject.toml")):
        return os.pathsep.join((_ROOT, *_named()))
    return None
