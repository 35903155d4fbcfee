"""Why the core answers some requests otherwise than Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.interop.conformance.exchanges import Exchange


def reason_of(
    exchange: Exchange, kafka: Mapping[str, object], ours: Sequence[Mapping[str, object]]
) -> str:
    """The name of the reason for this difference; empty for none."""
    return ""
