"""A controller whose registration is newer than its disk."""

from __future__ import annotations

from dataclasses import dataclass

from replica.words import up_to

REGISTERING_MS = 3_000
"""The longest time (ms) of a registration from the controller's process into the log."""


@dataclass(frozen=True, slots=True)
class RegisteredLater:
    """The registration of a controller's process. A process registers only after it has read the
    log up to its high watermark (Kafka: ControllerRegistrationManager)."""

    end: int
    """The end (exclusive) of the log on its disk."""
    offset: int
    """The offset of the registration in the newest log."""
    lacking_ms: int
    """The time (ms) from the first record that its disk lacks to the registration."""

    def __str__(self) -> str:
        return (
            f"its log goes {up_to(self.end)}, and its process registered at offset {self.offset}, "
            f"{self.lacking_ms / 1000:.0f} s after the next record, which it had read by then"
        )
