"""Reads the files in conf/: the settings of kraftlake, and Spark's properties. It loads no pyspark,
because commands that start no Spark read these files too."""

from __future__ import annotations

import os
import re
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replica.errors import UsageError
from replica.installation import shipped

_PROPERTY = re.compile(r"([^\s=:]+)\s*[=:]?\s*(.*)")  # a key, a separator, a value

Folder = Path | zipfile.Path
"""A folder on disk, or in the zip in which the code was shipped."""


@dataclass(frozen=True)
class Defaults:
    """The settings of conf/kraftlake.toml; that file explains them."""

    master: str | None = None
    cores_max: int = 8
    jars_dir: str | None = None
    lineage_file: str | None = None


def conf_directory() -> Folder | None:
    """The folder of kraftlake.toml and Spark's files; None where there is none.

    It is KRAFTLAKE_CONF, else conf/ beside the code (in a checkout, or in the zip of `make
    package`), else the folder that a wheel installs. Raises UsageError where KRAFTLAKE_CONF names
    no folder.
    """
    named = os.environ.get("KRAFTLAKE_CONF")
    if named:
        if not Path(named).is_dir():
            raise UsageError(
                f"KRAFTLAKE_CONF={named} is no folder: name a folder, or unset the variable."
            )
        return Path(named)
    return shipped("conf", "conf")


def read_defaults(conf_dir: Folder | None) -> Defaults:
    """The settings of conf_dir/kraftlake.toml; the default settings where there is no such file.
    Raises UsageError for an unknown key or another type."""
    path = None if conf_dir is None else conf_dir / "kraftlake.toml"
    if path is None or not path.is_file():
        return Defaults()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    known: dict[tuple[str, str], tuple[str, type]] = {
        ("spark", "master"): ("master", str),
        ("spark", "cores_max"): ("cores_max", int),
        ("jars", "dir"): ("jars_dir", str),
        ("lineage", "file"): ("lineage_file", str),
    }
    values: dict[str, Any] = {}
    for section in ("spark", "jars", "lineage"):
        table = document.get(section, {})
        if not isinstance(table, dict):
            raise UsageError(f"{path}: [{section}] is not a table")
        for key, value in table.items():
            field, kind = known.get((section, key), ("", object))
            if not field or type(value) is not kind:
                raise UsageError(
                    f"{path}: [{section}] {key} = {value!r} is not understood; known are "
                    + ", ".join(f"[{s}] {k} ({t.__name__})" for (s, k), (_, t) in known.items())
                )
            values[field] = value
    return Defaults(**values)


def read_properties(path: Folder) -> dict[str, str]:
    """The settings in a spark-defaults.conf, as Spark reads it: key, then blanks, `=` or `:`, then
    the value. Empty where there is no such file."""
    settings: dict[str, str] = {}
    if not path.is_file():
        return settings
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text and text[0] not in "#!":
            key, value = _PROPERTY.fullmatch(text).groups()  # type: ignore[union-attr]
            settings[key] = value
    return settings
