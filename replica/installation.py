"""Finds how this kraftlake was installed, and the command that adds an extra to it.

Each installer leaves a file in its environments: `uv tool install` leaves `uv-receipt.toml`, pipx
`pipx_metadata.json`, and uv the key `uv` in `pyvenv.cfg`. `direct_url.json` (PEP 610) in the
package's metadata has the source of the package, unless the source was an index.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from replica.shell_text import line

if TYPE_CHECKING:
    import zipfile

_BESIDE = Path(__file__).parents[1]
"""The parent of the folder replica: a checkout, or the folder kraftlake of a wheel or a zip."""
ROOT = Path(__file__).parents[__name__.count(".")]
"""The folder or file that holds kraftlake's packages: a checkout, site-packages, or a zip."""
_CACHE_MARK = "CACHEDIR.TAG"


def shipped(beside: str, installed: str) -> Path | zipfile.Path | None:
    """The folder of files that come with the code; None if there is none. In a checkout or a zip it
    is beside the packages, otherwise where a wheel installs it. beside: its path in a checkout.
    installed: its name below share/kraftlake."""
    if ROOT.is_file():
        import zipfile  # takes 10 ms, and few starts need it

        within = (_BESIDE / beside).relative_to(ROOT).as_posix()
        folder: Path | zipfile.Path = zipfile.Path(ROOT, f"{within}/")
    else:
        folder = _BESIDE / beside
    if folder.is_dir():
        return folder
    data = Path(sysconfig.get_path("data")) / "share" / "kraftlake" / installed
    return data if data.is_dir() else None


def release() -> str:
    """The release of this kraftlake, for people: its version, or "(from a checkout)" if it isn't
    installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes 20 ms

    try:
        return version("kraftlake")
    except PackageNotFoundError:
        return "(from a checkout)"


def line_that_adds(extra: str) -> str:
    """The command that installs an extra, such as lake, into this installation. A zip can't get
    extras: for it, a clause that says so and ends with the pip command. extra: its name in
    pyproject.toml."""
    if ROOT.is_file():
        added = line("python3", "-m", "pip", "install", f"kraftlake[{extra}]")
        return f"this file has the core alone: on a machine with a network, {added}"
    if (ROOT / "pyproject.toml").is_file():
        return line(*_pip(), "-e", f"{ROOT}[{extra}]")
    return _line(_requirement(extra, _direct_url()), Path(sys.prefix))


def _line(wanted: str, prefix: Path) -> str:
    """The command that installs `wanted` into the environment. wanted: a requirement. prefix: the
    environment's folder."""
    if (prefix / "uv-receipt.toml").is_file():
        return line("uv", "tool", "install", "--force", wanted)
    if (prefix / "pipx_metadata.json").is_file():
        if prefix.parent.name == "venvs":
            return line("pipx", "install", "--force", wanted)
        return line("pipx", "run", "--spec", wanted, "kraftlake")
    if _is_of_uv(prefix) and (prefix.parents[1] / _CACHE_MARK).is_file():
        return line("uvx", "--from", wanted, "kraftlake")
    return line(*_pip(), wanted)


def _pip() -> tuple[str, ...]:
    """The beginning of a pip command. It names the interpreter, because the pip of another
    environment may be first on the path.

    Only the folders of sys.path are searched for pip. importlib.util.find_spec would also ask the
    import hook of setuptools, which changes the modules of this process.
    """
    if PathFinder.find_spec("pip") is None and _is_of_uv(Path(sys.prefix)):
        return ("uv", "pip", "install", "--python", sys.executable)
    return (sys.executable, "-m", "pip", "install")


def _is_of_uv(prefix: Path) -> bool:
    try:
        lines = (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False
    return any(line.partition("=")[0].strip() == "uv" for line in lines)


def _requirement(extra: str, direct_url: str | None) -> str:
    """The requirement (PEP 508) of the package with the extra, from the source in `direct_url`;
    without a source if `direct_url` names none."""
    name = f"kraftlake[{extra}]"
    try:
        origin = json.loads(direct_url or "{}")
        url = str(origin["url"])
        if "vcs_info" in origin:
            url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    except (ValueError, KeyError, TypeError):
        return name
    return f"{name} @ {url}"


def _direct_url() -> str | None:
    # takes 20 ms, and few starts need it
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution("kraftlake").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
