"""Man pages are the help texts of the commands, in what man reads without a warning."""

from __future__ import annotations

import runpy
import shutil
import subprocess

import pytest
from typer.main import get_command

from jobs.cli.main import app
from tests.packages.building import REPOSITORY


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The file names, and what the files hold."""
    script = runpy.run_path(str(REPOSITORY / "packaging" / "man_pages.py"))
    return dict(script["pages"](get_command(app), "kraftlake"))


def test_every_command_has_a_page_that_its_group_names(pages: dict[str, str]) -> None:
    named = {f"kraftlake-{name}.1" for name in get_command(app).commands}  # type: ignore[attr-defined]
    assert named < pages.keys()
    assert "kraftlake-replica-run.1" in pages
    for name in named:
        title = name.removesuffix(".1").replace("-", r"\-")
        assert f".BR {title} (1)" in pages["kraftlake.1"]


def test_a_page_has_the_options_examples_and_exit_codes_of_the_help(pages: dict[str, str]) -> None:
    page = pages["kraftlake-check.1"]
    assert r"\fB\-\-fail\-on S\fR" in page
    assert "kraftlake check node1/ node2/ node3/\n" in page
    assert ".SH EXIT CODES\n0 no finding of the severity" in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="this machine has no groff")
def test_groff_reads_every_page_without_a_warning(pages: dict[str, str]) -> None:
    call = ["groff", "-man", "-Tutf8", "-ww"]
    done = subprocess.run(call, input="".join(pages.values()), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "kraftlake-check" in done.stdout
