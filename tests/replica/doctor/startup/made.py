"""All invented cases."""

from __future__ import annotations

from tests.replica.doctor.startup import made_security, made_settings
from tests.replica.doctor.startup.made_cases import CASES

__all__ = ["CASES", "made_security", "made_settings"]
