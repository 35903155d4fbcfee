"""No output of a command shows a secret, whatever the record is that holds it."""

from __future__ import annotations

import base64
import re
import resource
import subprocess
from pathlib import Path

import pytest

from replica.format.batch import decode_header
from tests.jobs.conftest import Kraftlake
from tests.jobs.directory_commands import CALLS
from tests.kraftlake_process import REPOSITORY, command_line
from tests.secret_log import (
    PLAIN_CONFIGS,
    SECRET,
    SECRET_CONFIGS,
    batch,
    config,
    plain,
    sound_log,
    write_node,
)

SECRETS = (SECRET, base64.b64encode(SECRET.encode()).decode()[:8])


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return write_node(tmp_path / "1")


@pytest.mark.parametrize(
    "command",
    [call for call in CALLS if call[0] in {"dump", "check"} and "health" not in call],
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


@pytest.mark.parametrize("command", CALLS, ids=" ".join)
def test_no_secret_of_a_state_or_of_its_history_shows(
    tmp_path: Path, kraftlake: Kraftlake, command: tuple[str, ...]
) -> None:
    node = write_node(tmp_path / "1", content=sound_log(), with_snapshot=False)
    ended = kraftlake(*command, node)
    assert ended.code in (0, 1, 3), ended.err
    assert ended.out
    for secret in SECRETS:
        assert secret not in ended.out + ended.err


@pytest.mark.parametrize("content", [None, sound_log()], ids=["damaged", "sound"])
def test_no_secret_is_in_the_report_of_a_directory(
    tmp_path: Path, kraftlake: Kraftlake, content: bytes | None
) -> None:
    node = write_node(tmp_path / "1", content=content, with_snapshot=content is None)
    ended = kraftlake("report", "-o", "-", node)
    assert "<html" in ended.out
    for secret in SECRETS:
        assert secret not in ended.out + ended.err


GUESSES = [f"{word}{number}" for word in ("changeit", "summer") for number in range(300)]
PASSWORD = GUESSES[417]


def guessed_crcs(base_offset: int, name: str = "ssl.keystore.password") -> dict[int, str]:
    """CRC-32C of the batch that each guess would give: what needs no key."""
    batches = {guess: batch(base_offset, [config(name, guess)]) for guess in GUESSES}
    return {decode_header(whole).crc: guess for guess, whole in batches.items()}


def test_batches_tell_nothing_by_which_a_password_can_be_guessed(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    log = tmp_path / f"{0:020d}.log"
    held = [
        batch(0, [plain("a")]),
        batch(1, [config("ssl.keystore.password", PASSWORD)]),
        batch(2, [plain("b")]),
    ]
    flipped = bytearray(batch(3, [config("ssl.keystore.password", PASSWORD)]))
    flipped[-3] ^= 1
    log.write_bytes(b"".join([*held, flipped]))
    rows = kraftlake("dump", "--json", "--batches", log).rows
    assert [row["crc"] for row in rows] == [
        decode_header(held[0]).crc,
        None,
        decode_header(held[2]).crc,
        None,
    ]
    for command in ("dump --batches", "dump --json --batches", "dump", "check", "check --json"):
        ended = kraftlake(*command.split(), log)
        for offset in (1, 3):
            for crc in guessed_crcs(offset):
                assert not {str(crc), f"{crc:08x}"} & set(
                    re.findall("[0-9a-f]+", ended.out + ended.err)
                )
    kept = kraftlake("dump", "--json", "--batches", "--keep-secrets", log).rows
    assert [guessed_crcs(offset)[kept[offset]["crc"]] for offset in (1, 3)] == [PASSWORD] * 2


def values(kraftlake: Kraftlake, *arguments: str | Path) -> dict[str, str]:
    """Config -> value, as dump shows it."""
    rows = kraftlake("dump", "--json", "--type", "config", "--logs-only", *arguments).rows
    return {row["data"]["name"]: row["data"]["value"] for row in rows}


def test_configs_that_kafka_knows_or_the_user_names_are_shown(
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


def test_a_command_that_crashes_leaves_no_core_with_what_it_holds() -> None:
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    process = subprocess.Popen(
        command_line("simulate", "--seeds", "0:100000"),
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)),
    )
    with process:
        assert process.stdout is not None
        assert "seed 0" in process.stdout.readline()
        assert resource.prlimit(process.pid, resource.RLIMIT_CORE) == (0, most)
        process.kill()
