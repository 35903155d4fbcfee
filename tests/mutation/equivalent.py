"""Mutants that do what the code does, and why. A name says file, function and change."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {}
