"""server.properties files for tests."""

from replica.node.properties import read_properties
from replica.node.settings import settings_in

MINIMAL = {
    "process.roles": "controller",
    "node.id": "1",
    "log.dirs": "/var/lib/node1",
    "listeners": "CONTROLLER://127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
}


def properties(tmp_path, **changed):
    """A server.properties. In a key, two underscores stand for a dot; None leaves a key out."""
    values = {**MINIMAL, **{key.replace("__", "."): value for key, value in changed.items()}}
    path = tmp_path / "server.properties"
    lines = [f"{key}={value}" for key, value in values.items() if value is not None]
    path.write_text("\n".join(lines) + "\n")
    return read_properties(str(path))


def settings(tmp_path, **changed):
    return settings_in(properties(tmp_path, **changed))
