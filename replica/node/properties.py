"""Reads the values of a properties file. Errors name the file and the key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from replica.errors import DataError, UsageError
from replica.format.java_properties import ENCODING, escape, properties_in


class Properties:
    """The values of a properties file. The object remembers which keys were read, so that `unknown`
    gives the other keys.

    Every method raises UsageError for an invalid value: one line that names file, key and value.
    """

    def __init__(self, path: str, values: Mapping[str, str], prefix: str = "") -> None:
        self.path = path
        self._values = dict(values)
        self._taken: set[str] = set()
        self._prefix = prefix
        self._has_plain = True

    def with_prefix(self, prefix: str) -> Properties:
        """The same file, in which a key with the prefix overrides the key without it. An example of
        a prefix is `listener.name.controller.`, with the dot (Kafka: valuesWithPrefixOverride)."""
        section = Properties(self.path, self._values, prefix)
        section._taken = self._taken
        return section

    def only_with_prefix(self, prefix: str) -> Properties:
        """The same file, with only the keys that have the prefix."""
        section = self.with_prefix(prefix)
        section._has_plain = False
        return section

    def values(self) -> Mapping[str, str]:
        """All values of the file, by their keys."""
        return dict(self._values)

    def error(self, key: str, why: str) -> UsageError:
        """An error about one key."""
        return UsageError(f"{self.path}: {self._name(key)}: {why}")

    def given(self, key: str) -> str | None:
        """The value without blanks around it; it may be empty. None if the key is missing."""
        self._taken.update((key, self._prefix + key) if self._has_plain else (self._prefix + key,))
        found = self._values.get(self._name(key))
        return None if found is None else found.strip()

    def text(self, key: str, default: str = "") -> str:
        """The value without blanks around it; `default` if the value is missing or empty."""
        return self.given(key) or default

    def required(self, key: str, hint: str) -> str:
        found = self.text(key)
        if not found:
            raise self.error(key, f"missing; set it, such as {key}={hint}")
        return found

    def names(self, key: str) -> tuple[str, ...]:
        """The words of a comma-separated list; empty if the key is missing."""
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

    def fraction(self, key: str, default: float) -> float:
        """The value, a number from 0 to 1; `default` if the value is missing or empty. Raises
        UsageError for any other value."""
        text = self.text(key, str(default))
        try:
            value = float(text)
        except ValueError as error:
            raise self.error(key, f"{text!r} is no number") from error
        if not 0 <= value <= 1:
            raise self.error(key, f"{text} is not between 0 and 1")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """One of `choices`; the value may be in upper or lower case. `default` if the value is
        missing or empty."""
        found = self.text(key, default)
        for choice in choices:
            if choice.lower() == found.lower():
                return choice
        raise self.error(key, f"{found!r}: expected {', '.join(choices[:-1])} or {choices[-1]}")

    def flag(self, key: str, *, default: bool) -> bool:
        """Whether the value is `true`, in upper or lower case; `default` if the value is missing or
        empty. Raises UsageError for a value other than true and false."""
        return self.choice(key, ("true", "false"), str(default).lower()) == "true"

    def has_any(self, endings: tuple[str, ...]) -> bool:
        """Whether a key of the file has one of these endings."""
        return any(key.endswith(endings) for key in self._values)

    def unknown(self) -> tuple[str, ...]:
        """The keys of the file that no method has read, sorted."""
        return tuple(sorted(self._values.keys() - self._taken))

    def _name(self, key: str) -> str:
        prefixed = self._prefix + key
        return prefixed if prefixed in self._values or not self._has_plain else key


def read_properties(path: str, kind: str = "server.properties") -> Properties:
    """The values in the file at `path`. Raises UsageError if the file can't be read or isn't a
    properties file, and for a value with a zero byte: a value may be a path, and a path can't have
    a zero byte. kind: the name of this kind of file in errors."""
    try:
        text = Path(path).read_bytes().decode(ENCODING)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a {kind} file") from error
    try:
        values = {key: value for _, key, value in properties_in(text)}
    except DataError as error:
        raise UsageError(str(error.in_file(path))) from error
    for key, value in values.items():
        if "\0" in value:
            raise UsageError(
                f"{path}: {escape(key)}: a zero byte, which no path, name or password may hold"
            )
    return Properties(path, values)
