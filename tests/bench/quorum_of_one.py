"""The server.properties of a replica that is the only voter of its quorum."""

from __future__ import annotations

from pathlib import Path


def write_properties(folder: Path, port: int, more: dict[str, object]) -> Path:
    """Makes `folder`/log and writes `folder`/server.properties, whose path it returns."""
    lines = {
        "process.roles": "controller",
        "node.id": 1,
        "log.dirs": folder / "log",
        "listeners": f"CONTROLLER://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{port}",
        **more,
    }
    (folder / "log").mkdir(parents=True)
    path = folder / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    return path
