"""No output of a command shows a secret, whatever the record is that holds it."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.secret_log import PLAIN_CONFIGS, SECRET, SECRET_CONFIGS, write_node

SECRETS = (SECRET, base64.b64encode(SECRET.encode()).decode()[:8])


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return write_node(tmp_path / "1")


@pytest.mark.parametrize(
    "command",
    [
        *(("dump", *options) for options in ((), ("--json",), ("--batches", "--json"))),
        *(("check", *options) for options in ((), ("--json",))),
    ],
    ids=" ".join,
)
def test_no_secret_shows(node: Path, kraftlake: Kraftlake, command: tuple[str, ...]) -> None:
    ended = kraftlake(*command, node)
    assert ended.code == 1, "there is damage"
    assert len(ended.lines) > 3
    for secret in SECRETS:
        assert secret not in ended.out + ended.err
    kept = kraftlake("dump", "--json", "--keep-secrets", node)
    assert all(secret in kept.out for secret in SECRETS)


def values(kraftlake: Kraftlake, *arguments: str | Path) -> dict[str, str]:
    """Config -> value, as dump shows it."""
    rows = kraftlake("dump", "--json", "--type", "config", "--logs-only", *arguments).rows
    return {row["data"]["name"]: row["data"]["value"] for row in rows}


def test_what_kafka_knows_and_what_the_user_names_is_shown(
    node: Path, kraftlake: Kraftlake
) -> None:
    found = values(kraftlake, node)
    assert {name: found[name] for name in PLAIN_CONFIGS} == PLAIN_CONFIGS
    assert all(found[name].startswith("***:") for name in SECRET_CONFIGS)
    named = values(kraftlake, "--show-config", "db.pwd", "--show-config", "connection.url", node)
    assert named["db.pwd"] == "hunter2-pwd"
    assert named["connection.url"].startswith("***:"), "it holds user info"
    assert named["my.credential"].startswith("***:")


@pytest.mark.parametrize("command", ["dump", "diff", "ingest", "consume"])
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--show-config", "ssl.key.password"), "--show-config ssl.key.password: Kafka holds it"),
        (("--show-config", "a", "--keep-secrets"), "exclude each other"),
    ],
)
def test_naming_a_secret_config_is_refused(
    node: Path, kraftlake: Kraftlake, command: str, options: tuple[str, ...], reason: str
) -> None:
    places: dict[str, tuple[str | Path, ...]] = {
        "dump": (node,),
        "diff": (node, node),
        "ingest": ("--lake", node.parent / "lake", node),
        "consume": ("-b", "127.0.0.1:1"),
    }
    ended = kraftlake(command, *options, *places[command])
    assert ended.code == 2
    assert reason in ended.error
    assert not (node.parent / "lake").exists()
