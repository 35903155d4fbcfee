"""Properties files with quotes and empty values, for tests of security."""

from replica.node.properties import read_properties

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def properties_of(tmp_path, lines, name="client.properties"):
    """Properties, read from a file of these lines, which only its owner may read."""
    path = tmp_path / name
    path.write_text(lines, encoding="latin-1")
    path.chmod(0o600)
    return read_properties(str(path), name)
