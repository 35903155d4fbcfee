"""The Containerfile, without a builder: its copies, its commands as far as they need no base image,
and what the finished image starts."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from tests.interop.kafka_node import free_ports
from tests.interop.observer_process import ObserverProcess
from tests.jobs.test_consume import metadata_values
from tests.kraftlake_process import REPOSITORY, kraftlake
from tests.packages.building import PACKAGES, RUNBOOKS, STEP
from tests.replica.consumer.quorum import in_thread

FILE = REPOSITORY / "Containerfile"


def instructions() -> list[tuple[str, str]]:
    """(name, rest), lines that go on joined."""
    lines = [line for line in FILE.read_text().splitlines() if line and line[0] != "#"]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined)]


def of(name: str) -> list[str]:
    return [rest for each, rest in instructions() if each == name]


def test_images_are_named_without_a_registry_and_are_of_a_python_that_will_do() -> None:
    wanted = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    images = [rest.split()[0] for rest in of("FROM")]
    assert len(set(images)) == 1
    found = re.fullmatch(r"python:(\d+\.\d+)-slim", images[0])
    assert found is not None
    assert Requirement(f"python{wanted['requires-python']}").specifier.contains(found[1])


def test_the_build_context_has_only_the_files_that_the_wheel_and_the_lock_need() -> None:
    kept = {
        line[1:]
        for line in (REPOSITORY / ".dockerignore").read_text().splitlines()
        if line[0] == "!"
    }
    assert kept == {
        *PACKAGES,
        "pyspark_*.py",
        "conf",
        RUNBOOKS,
        STEP,
        "pyproject.toml",
        "requirements.lock",
        "README.md",
        "LICENSE",
    }
    assert all(any(REPOSITORY.glob(name)) for name in kept)


def test_the_versions_installed_are_all_of_the_lock_s(tmp_path: Path) -> None:
    (command,) = (rest for rest in of("RUN") if rest.startswith("sed"))
    output = tmp_path / "constraints.txt"
    subprocess.run(
        ["sh", "-ec", command.replace("/constraints.txt", str(output))],
        cwd=REPOSITORY,
        check=True,
    )
    pinned = [Requirement(line) for line in output.read_text().splitlines()]
    lock = (REPOSITORY / "requirements.lock").read_text()
    assert len(pinned) == len(re.findall(r"^[A-Za-z0-9]", lock, re.MULTILINE))
    assert all(str(each.specifier).startswith("==") for each in pinned)


def test_the_image_runs_without_root_and_shows_the_help() -> None:
    (user,) = of("USER")
    assert user.split(":")[0].isdigit()
    assert int(user.split(":")[0]) > 0
    (entrypoint,), (command,) = of("ENTRYPOINT"), of("CMD")
    assert json.loads(entrypoint) == ["kraftlake"]
    done = kraftlake(*json.loads(command))
    assert (done.returncode, done.stderr) == (0, "")
    assert "First steps" in done.stdout


def health_check() -> list[str]:
    (rest,) = of("HEALTHCHECK")
    return list(json.loads(rest[rest.index("CMD") + 3 :]))


def test_an_observer_that_serves_its_recording_is_healthy_and_one_that_is_gone_is_not(
    data: Path, tmp_path: Path
) -> None:
    first, *arguments = health_check()
    assert first == "kraftlake"
    (port,) = free_ports(1)
    arguments = [word.replace(":9099", f":{port}") for word in arguments]
    with in_thread(tmp_path, metadata_values(data), voters=1, topic_id=None) as bootstrap:
        listen = ("--listen", f"127.0.0.1:{port}")
        with ObserverProcess(tmp_path / "recording", bootstrap, *listen) as observer:
            observer.wait_for("caught up at offset")
            done = kraftlake(*arguments)
            assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "20" in arguments  # seconds; the test needn't wait for them
    gone = kraftlake(*[word if word != "20" else "0.5" for word in arguments])
    assert gone.returncode == 1
