"""The answers of kraftlake about the copies of a recorded cluster: each command once, as a user
runs it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kraftlake_process import kraftlake

Row = dict[str, Any]


@dataclass(frozen=True)
class Answers:
    """The answers: rows of JSON by kind, of each command. state: of every entity."""

    check: list[Row]
    happened: list[Row]
    timeline: list[Row]
    recover: list[Row]
    state: list[Row]
    cluster_id: str

    @property
    def verdict(self) -> Row:
        """The verdict on the recorded cluster."""
        return next(
            row for row in self.check
            if row["kind"] == "verdict" and row["cluster_id"] == self.cluster_id
        )  # fmt: skip

    @property
    def level(self) -> str:
        return str(self.verdict["level"])

    @property
    def warnings(self) -> list[str]:
        """The verdict's facts except notes."""
        return [one["text"] for one in self.verdict["facts"] if one["severity"] != "info"]

    def events(self, kind: str) -> list[Row]:
        return [
            row for row in self.timeline
            if row["event"] == kind and row["cluster_id"] == self.cluster_id
        ]  # fmt: skip

    def entities(self, kind: str) -> list[Row]:
        return [json.loads(row["value"]) for row in self.state if row["entity"] == kind]


def asked(copies: Iterable[Path], cluster_id: str) -> Answers:
    places = sorted(copies)
    return Answers(
        _rows("check", "--json", *places),
        _rows("what-happened", "--json", *places),
        _rows("timeline", "--json", *places),
        _rows("recover", "--plan", "--json", *places),
        _rows("state", "--json", "--cluster", cluster_id, *places),
        cluster_id,
    )


def asked_in_order(folder: Path, names: Iterable[str], cluster_id: str) -> list[Row]:
    """The events of a cluster, from several captures of its nodes, the oldest first."""
    rows = _rows("timeline", "--json", "--order", ",".join(names), "--cluster", cluster_id, folder)
    return [row for row in rows if row["cluster_id"] == cluster_id]


def _rows(*arguments: object) -> list[Row]:
    ran = kraftlake(*arguments)
    assert "Traceback" not in ran.stderr, (arguments, ran.stderr)
    return [json.loads(line) for line in ran.stdout.splitlines()]
