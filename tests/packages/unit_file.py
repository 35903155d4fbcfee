"""systemd's unit and environment files, as far as ours use their syntax (systemd.service)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

_NAME = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def settings_in(path: Path) -> dict[str, list[str]]:
    """Each key's values, in order. A key includes its section's name, as in Service.User."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and line[0] not in "#;":
            key, value = line.split("=", 1)
            found.setdefault(f"{section}.{key}", []).append(value)
    return found


def environment_in(path: Path) -> dict[str, str]:
    """The variables of an EnvironmentFile."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and line[0] not in "#;")


def words(command: str, environment: Mapping[str, str]) -> list[str]:
    """The words of a command line. ${NAME} is replaced within its word; a word $NAME becomes as
    many words as its value has."""
    found: list[str] = []
    for word in shlex.split(command):
        if (alone := _NAME.fullmatch(word)) and alone[2]:
            found += shlex.split(environment[alone[2]])
        else:
            found.append(_NAME.sub(lambda name: environment[name[1] or name[2]], word))
    return found
