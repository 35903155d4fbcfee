"""The Containerfile built by buildah, without a daemon, and its image run: as its own plain user,
on a root that nobody can write to.

The base image is a Debian that debootstrap makes, because a registry of images may be out of reach.
The builder needs the network, and root."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kraftlake_process import REPOSITORY

_NEEDED = ("buildah", "debootstrap", "unshare", "chroot")
_DEBIAN = "trixie"
"""Its Python is newer than 3.11."""
_OF_THIS_MACHINE = ("etc/ssl/certs/ca-certificates.crt", "etc/pip.conf")
"""By which pip reaches its index from here."""
_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or any(shutil.which(one) is None for one in _NEEDED),
        reason="this machine has no builder, or we are not root (Debian's packages buildah and "
        "debootstrap)",
    ),
    pytest.mark.skipif(not _SOURCES.exists(), reason="this machine doesn't say where Debian is"),
]


def done(*words: object, **options: object) -> str:
    """What a command prints, which must end well."""
    ended = subprocess.run([*map(str, words)], capture_output=True, text=True, **options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@dataclass(frozen=True)
class Image:
    """A built image. root: its files, mounted. config: what an engine reads of it."""

    root: Path
    config: dict


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    folder = tmp_path_factory.mktemp("image")
    base = _base(folder / "base")
    store = ("--root", folder / "store", "--runroot", folder / "run")

    def buildah(*words: object) -> str:
        return done("buildah", *store, *words, cwd=REPOSITORY).strip()

    name = re.search(r"^FROM (\S+)", (REPOSITORY / "Containerfile").read_text(), re.MULTILINE)
    assert name is not None
    scratch = buildah("from", "scratch")
    buildah("add", "-q", scratch, base, "/")
    buildah("config", "--env", f"PATH={os.defpath}:/usr/local/bin", scratch)
    buildah("commit", "-q", "--rm", scratch, f"docker.io/library/{name[1]}")
    how = ("--format", "docker", "--isolation", "chroot", "--pull-never", "--network", "host")
    buildah("bud", *how, "-t", "kraftlake", ".")
    container = buildah("from", "--pull-never", "localhost/kraftlake")
    inspected = json.loads(buildah("inspect", "--type", "image", "localhost/kraftlake"))
    yield Image(Path(buildah("mount", container)), inspected["Docker"]["config"])
    buildah("umount", container)
    shutil.rmtree(folder)  # a gigabyte


def _base(root: Path) -> Path:
    """A small Debian with Python and pip, as images of Python have them."""
    mirror = re.search(r"^URIs: (\S+)", _SOURCES.read_text(), re.MULTILINE)
    assert mirror is not None
    packages = "--include=ca-certificates,python3,python3-pip,python3-venv"
    done("debootstrap", "--variant=minbase", packages, _DEBIAN, root, mirror[1])
    (root / "usr/bin/python").symlink_to("python3")
    for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        marker.unlink()
    for name in _OF_THIS_MACHINE:
        if Path("/", name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path("/", name), root / name)
    return root


def on_read_only_root(image: Image, logs: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """A command in the image as the image's user, with `logs` at /mnt; nothing can be written."""
    script = (
        'mount --bind "$0" "$0"; mount --bind "$1" "$0/mnt"; mount -t proc proc "$0/proc"; '
        'mount -o remount,ro,bind "$0/mnt"; mount -o remount,ro,bind "$0"; '
        'root=$0 user=$2; shift 2; exec chroot --userspec="$user" "$root" "$@"'
    )
    entry = ("unshare", "--mount", "sh", "-ec", script, image.root, logs, image.config["User"])
    return subprocess.run(
        [*map(str, (*entry, *words))],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_the_built_image_checks_a_directory_as_a_plain_user_on_a_read_only_root(
    image: Image, data: Path
) -> None:
    logs = data / "kafka-4.1.1-dynamic/final/1"
    found = on_read_only_root(image, logs, "kraftlake", "check", "--json", "/mnt")
    assert found.returncode == 0, found.stderr
    (verdict,) = json.loads(found.stdout.splitlines()[-1])["summary"]["directories"]
    assert verdict["verdict"] == "ok"
    assert on_read_only_root(image, logs, "id", "-u").stdout == "10001\n"
    refused = on_read_only_root(image, logs, "touch", "/data/file")
    assert "Read-only file system" in refused.stderr


def test_the_built_image_says_how_it_is_started_and_how_its_health_is_asked(image: Image) -> None:
    config = image.config
    assert (config["User"], config["Entrypoint"]) == ("10001:10001", ["kraftlake"])
    assert config["Cmd"] == ["--help"]
    assert config["Healthcheck"]["Test"][:3] == ["CMD", "kraftlake", "consume"]
    assert list(config["Volumes"]) == ["/data"]
