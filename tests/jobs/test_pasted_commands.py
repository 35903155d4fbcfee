"""Command lines that a command prints, pasted: no word of a stranger's file or name runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pipelines.lake import Lake
from replica.shell_text import Shell, is_host, line, noted, path, word
from tests.jobs.conftest import Ended, Kraftlake

SPLIT = "kafka-4.1.1-dynamic/split"
STATIC = "kafka-3.7.2-static/split"
HOSTILE = "a $(touch ran) `touch ran` ; touch ran #' \"!\\ & | > ran"
TOOLS = ("kafka-server-stop.sh", "kafka-server-start.sh", "kafka-storage.sh",
         "kafka-metadata-quorum.sh", "kafka-topics.sh", "kafka-log-dirs.sh")  # fmt: skip


def pasted(folder: Path, commands: list[str], *options: str) -> list[str]:
    """The files that are there once the lines were pasted at the prompt of a bash in a folder of
    its own. Kafka's tools, kraftlake and all that copies are programs that do nothing."""
    place = folder / "pasted"
    (place / "bin").mkdir(parents=True)
    others = ("kraftlake", "scp", "cp", "mkdir", "kill", "grep", "sed", "printf")
    for name in (*TOOLS, *others):
        (place / "bin" / name).write_text("#!/bin/sh\n")
        (place / "bin" / name).chmod(0o755)
    subprocess.run(
        ["bash", "--norc", "-i", *options],
        input="".join(f"{command}\n" for command in commands),
        cwd=place,
        env={"PATH": f"{place}/bin:/usr/bin:/bin", "HOME": str(place)},
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return sorted(one.name for one in place.iterdir() if one.name not in ("bin", ".bash_history"))


def commands_in(ended: Ended) -> list[str]:
    return [one[1] for text in ended.lines if (one := re.fullmatch(r"       (\S.*)", text))]


def hostile_node(source: Path, folder: Path, **properties: str) -> Path:
    shutil.copytree(source, folder)
    meta = folder / "meta.properties"
    for key, value in properties.items():
        name = key.replace("_", ".")
        text = re.sub(rf"(?m)^{re.escape(name)}=.*$", f"{name}={value}", meta.read_text())
        meta.write_text(text)
    return folder


@pytest.mark.parametrize("cluster", ["x$(touch${IFS}ran)", "../../x", "a b", "x;touch ran", ""])
def test_a_cluster_id_that_kafka_never_makes_comes_into_no_step(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, cluster: str
) -> None:
    for node in ("1", "2"):
        source = recorded / "kafka-4.1.1-dynamic/final" / node
        hostile_node(source, tmp_path / "c" / node, cluster_id=cluster)
    ended = kraftlake("recover", "--plan", tmp_path / "c")
    assert not any("touch" in each or "../.." in each for each in commands_in(ended))
    assert pasted(tmp_path, commands_in(ended)) == []
    if cluster:
        assert ended.code == 1
        assert ended.complaints[-1].endswith(
            "has characters that no id of Kafka has, and commands with it could run something "
            "else: correct it"
        )


@pytest.mark.parametrize(
    "host", ["$(touch${IFS}ran)", "`touch${IFS}ran`", "a;touch${IFS}ran", "-x"]
)
def test_a_host_that_is_none_comes_into_no_step_nor_comment(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, host: str
) -> None:
    for node in ("1", "2"):
        folder = tmp_path / "c" / node
        shutil.copytree(recorded / STATIC / node, folder)
        voters = f"controller.quorum.voters=1@{host}:9093,2@b:9093,3@c:9093\n"
        (folder / "quorum.properties").write_text(voters)
    ended = kraftlake("recover", "--plan", tmp_path / "c")
    assert commands_in(ended)
    assert not any(host in each for each in commands_in(ended))
    assert any("b:9093" in each or ", b" in each for each in commands_in(ended))
    # zsh, the shell of macOS, has no comments at its prompt
    assert pasted(tmp_path, commands_in(ended), "+O", "interactive_comments") == []


@pytest.mark.parametrize("name", [HOSTILE, "two\nlines\x1b[2J", "-rf", "café"])
def test_a_folder_s_name_is_one_word_of_each_step(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for node in ("2", "12"):
        shutil.copytree(recorded / SPLIT / node, tmp_path / name / node)
    monkeypatch.chdir(tmp_path)
    ended = kraftlake("recover", "--plan", "--", name)
    commands = commands_in(ended)
    (kept,) = [each for each in commands if each.startswith("kraftlake capture")]
    shown = subprocess.run(
        ["bash", "-c", f"kraftlake() {{ printf '%s\\0' \"$@\"; }}; {kept}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    start = "./" if name.startswith("-") else ""
    metadata = "__cluster_metadata-0"
    assert shown[1:3] == [f"{start}{name}/12/{metadata}", f"{start}{name}/2/{metadata}"]
    assert pasted(tmp_path, commands) == []


def test_a_bundle_is_unpacked_by_kraftlake_itself(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tar would write links and as many zeros as the bundle says."""
    shutil.copytree(recorded / SPLIT, tmp_path / "left")
    bundle = shutil.make_archive(str(tmp_path / HOSTILE), "gztar", tmp_path, "left")
    monkeypatch.chdir(tmp_path)
    capture, plan = commands_in(kraftlake("recover", "--plan", bundle))
    assert capture.startswith("kraftlake capture ")
    taken = kraftlake("capture", bundle, "-o", "unpacked")
    assert taken.code == 0
    assert "12/__cluster_metadata-0: " in taken.out
    assert plan == "kraftlake recover --plan unpacked"
    again = kraftlake("recover", "--plan", "unpacked")
    assert again.lines[0] == kraftlake("recover", "--plan", "left").lines[0]
    assert len(commands_in(again)) >= 5


def test_what_a_bundle_holds_damaged_is_told_and_the_rest_is_captured(
    kraftlake: Kraftlake, recorded: Path, tmp_path: Path
) -> None:
    bundle = shutil.make_archive(str(tmp_path / "left"), "gztar", recorded / SPLIT)
    with open(bundle, "rb+") as file:
        file.truncate(Path(bundle).stat().st_size * 2 // 3)
    ended = kraftlake("capture", bundle, "-o", tmp_path / "unpacked")
    assert ended.code == 1
    assert "the bundle breaks off" in ended.err
    assert ended.out


def test_every_lake_in_a_message_is_one_word(kraftlake: Kraftlake, tmp_path: Path) -> None:
    lake = tmp_path / HOSTILE.replace("\\", "").replace("|", "")  # in no path of a lake
    data = Path(__file__).parents[1] / "data"
    assert kraftlake("ingest", "--lake", lake, data / SPLIT / "2").code == 0
    refused = kraftlake("sql", "--lake", lake, "--question", "findings", "--engine", "delta-rs")
    said = refused.error.split("run `", 1)[1].removesuffix("`")
    assert said == f"kraftlake build --lake {word(str(lake))}"
    assert pasted(tmp_path, [said, Lake(lake).command("sql", "-f", "$(touch ran)")]) == []


def test_a_word_is_the_same_word_for_a_shell() -> None:
    words = ["a b", "", "~", "$x", "it's", "a\nb\x1b", "-n", "é\u202e", "\\", "!!", "a=b", HOSTILE]
    words += ["odd \udcff", "odd \udc9b2J"]
    printed = line("printf", r"%s\0", *words)
    assert "\n" not in printed
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    shown = subprocess.run(["bash", "-c", printed], capture_output=True, check=True,
                           env={"LC_ALL": "C.UTF-8"}).stdout  # fmt: skip
    assert os.fsdecode(shown).split("\0")[:-1] == words


def test_a_note_holds_no_sign_that_a_shell_obeys() -> None:
    assert noted(Shell("ls"), "on $(x) `y`;z") == "ls  # on ??x? ?y??z"


def test_a_path_is_no_option_and_a_host_has_letters() -> None:
    assert (path("-rf"), path("a-b")) == ("./-rf", "a-b")
    hosts = ("kafka-1.example.com", "10.0.0.1", "fe80::1", "a_b")
    assert all(map(is_host, hosts))
    assert not any(map(is_host, ("", "-x", "a b", "a$b", "a;b", "a\n", "$(x)", "ä")))
