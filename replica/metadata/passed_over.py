"""Types of records that a replay ignores, because the user says that they don't change Kafka's own
state: other products write their own types into Kafka's log."""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import UsageError
from replica.metadata.records import FIRST_VENDOR_KEY, RECORDS_BY_KEY

VENDORS = "vendors"
"""The word for all types from FIRST_VENDOR_KEY on."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """The types that are passed over. A type that this release knows is never among them."""

    api_keys: frozenset[int] = frozenset()
    """The api keys of the types."""
    vendors: bool = False
    """Whether all types from FIRST_VENDOR_KEY on are also passed over."""

    def __bool__(self) -> bool:
        return bool(self.api_keys) or self.vendors

    def __contains__(self, api_key: int) -> bool:
        return api_key in self.api_keys or (self.vendors and api_key >= FIRST_VENDOR_KEY)

    @property
    def text(self) -> str:
        """The types in the form that `parse` reads, such as `31,vendors`."""
        return ",".join([*map(str, sorted(self.api_keys)), *[VENDORS] * self.vendors])


NOTHING = PassedOver()


def parse(text: str) -> PassedOver:
    """The types in a text such as `501,516` or `vendors`. Raises UsageError for a part that is
    neither `vendors` nor the number of a type that this release doesn't know."""
    words = [word.strip() for word in text.split(",")]
    return PassedOver(
        frozenset(_api_key(word) for word in words if word != VENDORS), VENDORS in words
    )


def _api_key(word: str) -> int:
    if not (word.isascii() and word.isdigit()) or int(word) >= 1 << 15:
        raise UsageError(
            f"{word or 'an empty part'}: expected numbers of record types, such as 501,516, or "
            f"{VENDORS} for all types from {FIRST_VENDOR_KEY} on"
        )
    known = RECORDS_BY_KEY.get(int(word))
    if known is not None:
        raise UsageError(f"{word} is {known.name}, which changes Kafka's own state")
    return int(word)
