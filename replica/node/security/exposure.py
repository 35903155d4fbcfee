"""Finds files with secrets that other users of the machine may read."""

from __future__ import annotations

import os
import stat

from replica.node.properties import Properties

_SECRET_KEYS = ("sasl.jaas.config", "ssl.key.password", "ssl.keystore.key")


def exposed(properties: Properties, *others: str | None) -> tuple[str, ...]:
    """A line for each file with secrets that other users may read. Such files are the properties
    file, if it holds a password or key, and `others`."""
    paths = [properties.path] if properties.has_any(_SECRET_KEYS) else []
    paths += [path for path in others if path]
    return tuple(
        f"{path}: everybody on this machine may read its secrets: chmod o-rwx {path}"
        for path in dict.fromkeys(paths)
        if _others_may_read(path)
    )


def _others_may_read(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & stat.S_IROTH)
    except OSError:
        return False  # A file that can't be looked at is reported when it is opened.
