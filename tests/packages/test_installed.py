"""The wheel installed without extras: the core works, and a command that needs an extra says so."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest

from jobs.cli.main import app
from pipelines.lake.schema_version import FILE_NAME, VERSION
from tests.packages.installing import Installation, install_core

pytestmark = pytest.mark.slow
CORE = {
    "dump",
    "diff",
    "check",
    "explain",
    "recover",
    "rehearse",
    "restore",
    "capture",
    "redact",
    "plan",
    "what-happened",
    "timeline",
    "history",
    "state",
    "simulate",
    "consume",
    "replica",
    "completion",
    "prune",
}
# What a command needs to be given until it comes to where its libraries are.
WITH_LAKE = {
    "ingest": ("--lake", "new", "node"),
    "build": ("--lake", "lake"),
    "quality": ("--lake", "lake"),
    "sql": ("--lake", "lake", "select 1"),
    "lake": ("--lake", "lake"),
    "forget": ("--lake", "lake", "--cluster", "c"),
    "maintain": ("--lake", "lake"),
    "register": ("--lake", "lake", "--catalog", "catalog"),
    "demo": ("--lake", "new"),
    "report": ("--lake", "lake"),
    "mcp": ("--lake", "lake"),
    "export": ("--lake", "lake", "-o", "tables.sqlite"),
    "publish": ("--lake", "lake", "--to", "changes"),
}


@pytest.fixture(scope="session")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install_core(wheel, tmp_path_factory.mktemp("core") / "venv")


@pytest.fixture
def folder(tmp_path: Path, data: Path) -> Path:
    """Where commands run: `node`, a node's log directory, and `lake`, which has the tables' folders
    that are looked for before a library is needed."""
    (tmp_path / "node").symlink_to(data / "kafka-3.7.2-static" / "final" / "1")
    for table in ("bronze/captures", "bronze/log_batches", "gold/metadata_changes"):
        (tmp_path / "lake" / table / "_delta_log").mkdir(parents=True)
    (tmp_path / "lake" / FILE_NAME).write_text(f"{VERSION}\n")
    return tmp_path


def test_every_command_is_known_to_these_tests() -> None:
    commands = {each.name or each.callback.__name__ for each in app.registered_commands}  # type: ignore[union-attr]
    groups = {each.typer_instance.info.name for each in app.registered_groups}  # type: ignore[union-attr]
    assert commands | groups == CORE | WITH_LAKE.keys()


def test_the_command_is_there_and_tells_its_version(core: Installation, tmp_path: Path) -> None:
    told = core.kraftlake("--version", cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == "kraftlake 1.0.0\n"
    assert "First steps" in core.kraftlake("--help", cwd=tmp_path).stdout


def test_directories_are_read_without_any_extra(core: Installation, data: Path) -> None:
    split = "kafka-3.7.2-static/split"
    dumped = core.kraftlake("dump", "--json", f"{split}/2", cwd=data)
    assert (dumped.returncode, dumped.stderr) == (0, "")
    assert json.loads(dumped.stdout.splitlines()[0])["type"] == "LEADER_CHANGE"

    checked = core.kraftlake("check", "--json", split, cwd=data)
    assert (checked.returncode, checked.stderr) == (1, "")
    rows = [json.loads(line) for line in checked.stdout.splitlines()]
    assert "log-divergence" in {row.get("rule") for row in rows}

    # of the exposure two lines more: which voter is behind, and what no log shows
    for option, lines in (("--sizes", 1), ("--exposure", 3)):
        told = core.kraftlake("state", option, "--json", split, cwd=data)
        assert (told.returncode, len(told.stderr.splitlines())) == (0, lines), told.stderr

    compared = core.kraftlake("diff", "--json", f"{split}/2", f"{split}/3", cwd=data)
    assert compared.stderr == ""
    assert json.loads(compared.stdout)["divergence_offset"] == 750

    restored = ("--release", "4.0", "--dry-run", f"{split}/3")
    assert core.kraftlake("restore", *restored, cwd=data).returncode == 0
    stopped = core.kraftlake("plan", "--stop-broker", "11", f"{split}/3", cwd=data)
    assert (stopped.returncode, "UNSAFE  stop node 11" in stopped.stdout) == (1, True)

    planned = core.kraftlake("recover", "--plan", f"{split}/2", f"{split}/3", cwd=data)
    assert (planned.stderr, "wins the election" in planned.stdout) == ("", True)


def test_the_rest_of_the_core_comes_up_without_any_extra(core: Installation, folder: Path) -> None:
    for call in (
        ("explain", "log-divergence"),
        ("timeline", "node"),
        ("what-happened", "node"),
        ("state", "node"),
        ("history", "--broker", "11", "node"),
        ("capture", "node", "-o", "captured"),
        ("redact", "node", "-o", "redacted"),
        ("completion", "bash"),
        ("simulate", "ghost-writes", "-o", "ghosts"),
        ("replica", "observe", "--help"),
        ("consume", "--help"),
    ):
        done = core.kraftlake(*call, cwd=folder)
        assert done.returncode == 0, (call, done.stderr)
        assert done.stdout


def test_a_report_of_directories_needs_no_extra(core: Installation, folder: Path) -> None:
    """Without what a lake needs the page has no slider and no SQL, and says so."""
    done = core.kraftlake("report", "node", "-o", "incident.html", cwd=folder)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "incident.html")
    assert "this page is made without a lake" in done.stderr
    assert "kraftlake[lake] @ " in done.stderr
    page = (folder / "incident.html").read_text(encoding="utf-8")
    to_stdout = core.kraftlake("report", "node", "-o", "-", cwd=folder).stdout
    assert page.split("</header>", 1)[1] == to_stdout.split("</header>", 1)[1]
    in_json = core.kraftlake("report", "node", "--json", cwd=folder)
    (row,) = map(json.loads, in_json.stdout.splitlines())
    assert row["sentence"].removeprefix("Now: ").partition(". ")[0] in done.stdout


@pytest.mark.parametrize("command", WITH_LAKE)
def test_a_command_that_needs_the_lake_s_extra_names_it_in_one_line(
    core: Installation, folder: Path, wheel: Path, command: str
) -> None:
    done = core.kraftlake(command, *WITH_LAKE[command], cwd=folder)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("kraftlake: error: ")
    python = core.folder / "bin" / "python"
    assert line.endswith(f"{python} -m pip install 'kraftlake[lake] @ {wheel.as_uri()}'")
    assert done.returncode == 1


def test_a_capture_to_an_object_store_names_the_extra_of_that(
    core: Installation, folder: Path
) -> None:
    done = core.kraftlake("capture", "node", "-o", "s3://bucket/captures", cwd=folder)
    (line,) = done.stderr.splitlines()
    assert "pyarrow is not installed: " in line
    assert "'kraftlake[s3] @ file:" in line


def test_the_installed_code_finds_its_settings(core: Installation, tmp_path: Path) -> None:
    """With the libraries of the extra lent by the environment of the tests."""
    code = (
        "import kraftlake.pipelines.report.page as page\n"
        "from kraftlake.pipelines.conf_files import conf_directory, read_defaults\n"
        "print(page.__file__, conf_directory(), read_defaults(conf_directory()).cores_max)\n"
    )
    done = core.python("-c", code, cwd=tmp_path, PYTHONPATH=sysconfig.get_path("purelib"))
    assert done.returncode == 0, done.stderr
    module, conf, cores = done.stdout.split()
    assert module.startswith(str(core.site_packages))
    assert (conf, cores) == (str(core.folder / "share" / "kraftlake" / "conf"), "8")


def test_a_runbook_is_printed_without_the_documentation(core: Installation, tmp_path: Path) -> None:
    told = core.kraftlake("explain", "--runbook", "two-quorums", cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("# Two quorums under one cluster id\n")
