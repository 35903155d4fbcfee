"""The APIs and versions that each client asks a replica for: the table in CLIENTS.md. Tests compare
it with the requests that pass their proxies. REWRITE_CLIENTS=1 writes the table anew from these
requests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.interop.reading_clients import Client
from tests.interop.recording_proxy import Call

FILE = Path(__file__).with_name("CLIENTS.md")
REWRITE = "REWRITE_CLIENTS"
_ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<version>[^|]+) \| (?P<calls>[^|]*) \|$")
_CALL = re.compile(r"(?P<api>[A-Z]\w*(?: key \d+)?) (?P<versions>[\d/]+)")

Asked = Mapping[str, frozenset[int]]
"""API name -> versions."""


def asked_by(calls: Iterable[Call]) -> Asked:
    found: dict[str, set[int]] = {}
    for call in calls:
        found.setdefault(call.api, set()).add(call.version)
    return {api: frozenset(versions) for api, versions in found.items()}


def hold_to_matrix(client: Client, calls: Iterable[Call]) -> None:
    """Fails where a client asked for an API or a version that the table lacks."""
    seen, (version, written) = asked_by(calls), _written().get(client.name, ("", {}))
    assert seen, "no call passed"
    if os.environ.get(REWRITE):
        _rewrite(client, seen, written if version == client.version else {})
        return
    advice = f"run with {REWRITE}=1, and read the diff of {FILE.name}"
    assert version == client.version, f"{client.name} {client.version} is new: {advice}"
    unknown = {api: versions for api, versions in seen.items() if versions != written.get(api)}
    assert not unknown, f"{client.name} asked for {_text(unknown)}: {advice}"


def _written() -> dict[str, tuple[str, Asked]]:
    rows = (_ROW.match(line) for line in FILE.read_text().splitlines())
    return {row["name"]: (row["version"], _asked(row["calls"])) for row in rows if row}


def _asked(text: str) -> Asked:
    return {
        call["api"]: frozenset(map(int, call["versions"].split("/")))
        for call in _CALL.finditer(text)
    }


def _text(asked: Asked) -> str:
    return ", ".join(
        f"{api} {'/'.join(map(str, sorted(versions)))}" for api, versions in sorted(asked.items())
    )


def _rewrite(client: Client, seen: Asked, written: Asked) -> None:
    both = {
        api: seen.get(api, frozenset()) | written.get(api, frozenset()) for api in {*seen, *written}
    }
    row = f"| {client.name} | {client.version} | {_text(both)} |"
    lines = FILE.read_text().splitlines()
    at = [i for i, line in enumerate(lines) if line.startswith(f"| {client.name} |")]
    if at:
        lines[at[0]] = row
    else:
        last = max(i for i, line in enumerate(lines) if line.startswith("|"))
        lines.insert(last + 1, row)
    FILE.write_text("\n".join(lines) + "\n")
