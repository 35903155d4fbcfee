"""Values of a properties file, each taken once, with errors that name the file and the key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from replica.errors import DataError, UsageError
from replica.format.java_properties import ENCODING, properties_in


class Properties:
    """A file's values; `unknown` tells in the end which keys nobody asked for.

    Every method raises UsageError, one line that names file, key and value.
    """

    def __init__(self, path: str, values: Mapping[str, str]) -> None:
        self.path = path
        self._values = dict(values)
        self._taken: set[str] = set()

    def error(self, key: str, why: str) -> UsageError:
        """About one key."""
        return UsageError(f"{self.path}: {key}: {why}")

    def text(self, key: str, default: str = "") -> str:
        """The value without blanks around it; `default` where it is missing or empty."""
        self._taken.add(key)
        return self._values.get(key, "").strip() or default

    def required(self, key: str, hint: str) -> str:
        found = self.text(key)
        if not found:
            raise self.error(key, f"missing; set it, such as {key}={hint}")
        return found

    def names(self, key: str) -> tuple[str, ...]:
        """A list with commas."""
        return tuple(part.strip() for part in self.text(key).split(",") if part.strip())

    def number(self, key: str, default: int, least: int = 0, most: int = 2**63 - 1) -> int:
        text = self.text(key, str(default))
        try:
            value = int(text)
        except ValueError as error:
            raise self.error(key, f"{text!r} is no whole number") from error
        if not least <= value <= most:
            raise self.error(key, f"{value} is not between {least} and {most}")
        return value

    def unknown(self) -> tuple[str, ...]:
        """Keys of the file that were never asked for, sorted."""
        return tuple(sorted(self._values.keys() - self._taken))


def read_properties(path: str) -> Properties:
    """Raises UsageError where the file can't be read or isn't a properties file."""
    try:
        text = Path(path).read_bytes().decode(ENCODING)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a server.properties file") from error
    try:
        return Properties(path, {key: value for _, key, value in properties_in(text)})
    except DataError as error:
        raise UsageError(str(error.in_file(path))) from error
