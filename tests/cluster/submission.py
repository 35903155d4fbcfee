"""Jobs submitted to a cluster by the commands in docs/how-to/cluster.md."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from sysconfig import get_path
from typing import Any, TypeVar

from pipelines.conf_files import read_properties
from pipelines.spark.jars import DELTA, jar_paths
from tests.cluster.standalone import Cluster, environment, send, told, wait_for
from tests.descendants import descendants
from tests.interop.kafka_node import free_ports

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "cluster.md"
PACKAGES = {
    "jobs": ("jobs_zip.py", "kraftlake-jobs.zip"),
    "environment": ("python_environment.py", "kraftlake-environment.tar.gz"),
}
"""The program and the product of each package."""
_WITHIN_S = 600
_DRIVER_OPTIONS = "spark.driver.defaultJavaOptions"

T = TypeVar("T")


def script_shown_by(test: str) -> str:
    """The block of the page that names this test as the test that runs it."""
    shown = rf"^<!-- shown by \S+::{test} -->\n```sh\n(.*?)^```$"
    (script,) = re.findall(shown, PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(script)


def make_package(name: str, dist: Path) -> None:
    """Makes one of the two archives of `make package`, from the environment that runs the tests."""
    maker, file = PACKAGES[name]
    words = [sys.executable, str(ROOT / "packaging" / maker), str(dist / file)]
    subprocess.run(words, check=True, capture_output=True)


def make_workplace(folder: Path) -> Path:
    """The folder of the page's reader: jobs, dist with the zip, an environment that has everything
    except our code, and a conf that gives drivers the settings of the page."""
    folder.mkdir()
    (folder / "jobs").symlink_to(ROOT / "jobs")
    venv.create(folder / ".venv", symlinks=True)
    (own,) = (folder / ".venv").glob("lib/*/site-packages")
    # whose own .pth files aren't followed
    (own / "packages.pth").write_text(get_path("purelib") + "\n")
    make_package("jobs", folder / "dist")
    (folder / "conf").mkdir()
    options = read_properties(ROOT / "conf" / "spark-local.conf")[_DRIVER_OPTIONS]
    (folder / "conf" / "spark-defaults.conf").write_text(f"{_DRIVER_OPTIONS} {options}\n")
    return folder


@dataclass(frozen=True)
class Submitted:
    """A running job. said: its output, on both streams."""

    process: subprocess.Popen[bytes]
    output: Path
    ui: str

    @property
    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def applications(self) -> list[str]:
        """The id of the application, once the driver prints it."""
        return [one["id"] for one in told(f"{self.ui}/applications") or ()]

    def executors(self) -> list[dict[str, Any]]:
        """The executors that the driver knows now, without the driver."""
        found = [told(f"{self.ui}/applications/{one}/executors") for one in self.applications()]
        return [one for answer in found for one in answer or () if one["id"] != "driver"]

    def until(self, what: str, look: Callable[[], T | None], every_s: float = 0.2) -> T:
        """The first result of `look` while the job runs. Fails, with the job's output, where there
        is none."""
        return wait_for(what, look, lambda: self.said, self._goes_on, every_s)

    def _goes_on(self) -> bool:
        return self.process.poll() is None

    def wait(self) -> None:
        """Waits for the job's end. Fails, with the job's output, where the job fails."""
        assert self.process.wait(_WITHIN_S) == 0, self.said[-10_000:]


@contextmanager
def submitted(
    script: str, cluster: Cluster, workplace: Path, variables: Mapping[str, str]
) -> Iterator[Submitted]:
    """Runs the script in `workplace`, as on a machine of the cluster, with that machine's cache.
    Kills what is left of it at the end."""
    (port,) = free_ports(1)
    output = workplace / f"{port}.log"
    scripts = Path(sys.executable).parent
    given = environment(
        **{**cluster.variables, **variables},
        KRAFTLAKE_JARS=str(jar_paths(DELTA)[0].parent),
        MASTER=cluster.master,
        SPARK_CONF_DIR=str(workplace / "conf"),
        PATH=f"{scripts}:/usr/local/bin:/usr/bin:/bin",
        SPARK_SUBMIT_OPTS=f"-Dspark.ui.port={port}",
    )
    with output.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-euc", script],
            cwd=workplace,
            env=given,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Submitted(process, output, f"http://127.0.0.1:{port}/api/v1")
    finally:
        left = [process.pid, *descendants(process.pid)] if process.poll() is None else []
        send(signal.SIGKILL, left)
        process.wait()
