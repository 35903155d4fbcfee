"""One reader for files of every size, independent of whether this process has
loaded the kernels."""

from __future__ import annotations

import pytest

from replica.scan import segments


def only_the_bulk_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    _from(monkeypatch, 0)


def only_the_scalar_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    _from(monkeypatch, 1 << 60)


def _from(monkeypatch: pytest.MonkeyPatch, size_bytes: int) -> None:
    monkeypatch.setattr(segments, "MIN_BYTES", size_bytes)
    monkeypatch.setattr(segments, "MIN_BYTES_LOADED", size_bytes)
