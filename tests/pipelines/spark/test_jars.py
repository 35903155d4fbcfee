"""Delta's jars: offline folder, cache, and a real download by pyspark's own Ivy."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipelines.spark.jar_sets import cache_dir
from pipelines.spark.jars import DELTA, DELTA_JARS, DELTA_VERSION, jar_paths
from pipelines.spark.s3a_jars import HADOOP_VERSION, S3A
from replica.errors import UsageError
from tests.without_java import hide_java

NAMES = [jar.file_name for jar in DELTA_JARS]
REPOSITORY = Path(__file__).parents[3]


def cached() -> Path:
    return cache_dir("jars", DELTA_VERSION)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own; returns its root."""
    monkeypatch.delenv("KRAFTLAKE_JARS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def real_jars() -> tuple[Path, ...]:
    """The jars, from wherever this machine has them; downloads them where it never had."""
    return jar_paths(DELTA)


def run_jars(*options: str, **environment: str) -> subprocess.Popen[str]:
    """`python -P -m pipelines.spark.jars` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.spark.jars", *options],
        env={**os.environ, **environment},
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_jars_are_of_the_installed_delta_spark() -> None:
    assert importlib.metadata.version("delta-spark") == DELTA_VERSION
    spark = ".".join(importlib.metadata.version("pyspark").split(".")[:2])
    assert DELTA_JARS[0].module.startswith(f"delta-spark_{spark}_")


@pytest.mark.slow
def test_downloads_beside_a_half_filled_m2(fresh: Path, tmp_path: Path) -> None:
    """Poms without jars in ~/.m2, as a failed Maven run leaves them, end Ivy's default search."""
    home = tmp_path / "home"
    for jar in DELTA_JARS:
        folder = home / ".m2/repository/io/delta" / jar.module / jar.revision
        folder.mkdir(parents=True)
        (folder / f"{jar.module}-{jar.revision}.pom").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>io.delta</groupId>"
            f"<artifactId>{jar.module}</artifactId><version>{jar.revision}</version></project>"
        )
    # Java takes user.home from the password database, not from HOME.
    ran = run_jars(HOME=str(home), JAVA_TOOL_OPTIONS=f"-Duser.home={home}")
    stdout, stderr = ran.communicate(timeout=300)

    assert ran.returncode == 0, stderr
    assert stdout.strip().split(",") == [str(cached() / name) for name in NAMES]
    assert stderr.count("\n") == 1
    assert "fetching Delta" in stderr
    assert sorted(path.name for path in cached().iterdir()) == NAMES
    assert [path.name for path in cached().parent.iterdir()] == [DELTA_VERSION]
    assert not (home / ".ivy2").exists()


@pytest.mark.slow
def test_two_processes_at_once(fresh: Path) -> None:
    both = [run_jars(), run_jars()]
    outputs = [process.communicate(timeout=300) for process in both]

    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert sorted(path.name for path in cached().iterdir()) == NAMES


def test_the_cache_is_used_without_java(
    fresh: Path, real_jars: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    cached().mkdir(parents=True)
    for path in real_jars:
        shutil.copy(path, cached())
    hide_java(monkeypatch)

    assert jar_paths(DELTA) == tuple(cached() / name for name in NAMES)

    (cached() / NAMES[0]).write_bytes(b"cut")
    with pytest.raises(UsageError, match="Java 17 or newer is needed"):
        jar_paths(DELTA)  # it must be fetched again, and that takes Java


def test_no_network_says_what_to_do(fresh: Path) -> None:
    ran = run_jars(JAVA_TOOL_OPTIONS="-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9")
    stdout, stderr = ran.communicate(timeout=300)

    assert (ran.returncode, stdout) == (2, "")
    last = stderr.splitlines()[-1]
    assert last.startswith("kraftlake: cannot download Delta's jars (")
    assert "Connection refused" in last
    assert all(name in last for name in NAMES)
    assert "KRAFTLAKE_JARS" in last
    assert not any(cached().iterdir())


def test_a_mirror_is_asked_instead(
    fresh: Path, tmp_path: Path, real_jars: tuple[Path, ...]
) -> None:
    ran = run_jars(**_mirrored(tmp_path / "mirror", real_jars))
    _, stderr = ran.communicate(timeout=300)
    assert ran.returncode == 0, stderr


def test_a_job_of_spark_submit_fetches_them_too(
    fresh: Path, tmp_path: Path, real_jars: tuple[Path, ...]
) -> None:
    """It imports pyspark from the archive that pyspark's own folder has."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    archives = sorted((Path(spec.origin).parent / "python" / "lib").glob("*.zip"))
    path = os.pathsep.join(map(str, (*archives, REPOSITORY)))
    ran = run_jars(PYTHONPATH=path, **_mirrored(tmp_path / "mirror", real_jars))
    _, stderr = ran.communicate(timeout=300)
    assert ran.returncode == 0, stderr


def _mirrored(mirror: Path, jars: tuple[Path, ...]) -> dict[str, str]:
    """The variables by which the folder is a mirror that has the jars, and there is no network."""
    for jar, path in zip(DELTA_JARS, jars, strict=True):
        folder = mirror / "io/delta" / jar.module / jar.revision
        folder.mkdir(parents=True)
        shutil.copy(path, folder)
    return {
        "KRAFTLAKE_MAVEN_MIRROR": f"{mirror.as_uri()}/",
        "JAVA_TOOL_OPTIONS": "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9",
    }


def test_offline_folder(
    tmp_path: Path, real_jars: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "offline"
    folder.mkdir()
    shutil.copy(real_jars[0], folder)
    monkeypatch.setenv("KRAFTLAKE_JARS", str(folder))
    with pytest.raises(UsageError) as missing:
        jar_paths(DELTA)
    assert str(missing.value).startswith(f"{folder} lacks {NAMES[1]}: copy it there")
    assert NAMES[0] not in str(missing.value)
    other = NAMES[0].replace("_2.13-", "_2.12-")
    (folder / other).touch()
    with pytest.raises(UsageError, match=rf"lacks {NAMES[1]} \(it has {other}, made for another"):
        jar_paths(DELTA)
    with pytest.raises(UsageError, match=r"nowhere lacks .* \(there is no such folder\)"):
        jar_paths(DELTA, tmp_path / "nowhere")

    shutil.copy(real_jars[1], folder)
    assert jar_paths(DELTA) == tuple(folder / name for name in NAMES)
    assert jar_paths(DELTA, real_jars[0].parent) == real_jars, "the option wins over the variable"

    with (folder / NAMES[1]).open("ab") as file:
        file.write(b"x")
    with pytest.raises(UsageError, match=f"{NAMES[1]} is damaged or another build"):
        jar_paths(DELTA)


def test_an_unwritable_cache_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.delenv("KRAFTLAKE_JARS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"cannot write the jar cache .* set XDG_CACHE_HOME"):
        jar_paths(DELTA)


@pytest.mark.skipif(not S3A.jars, reason="tests.object_stores.s3a_closure has not written them")
def test_s3a_is_of_pyspark_s_hadoop() -> None:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (hadoop,) = (Path(spec.origin).parent / "jars").glob("hadoop-client-api-*.jar")
    assert hadoop.name == f"hadoop-client-api-{HADOOP_VERSION}.jar"
    assert [jar.revision for jar in S3A.jars if jar.module == "hadoop-aws"] == [HADOOP_VERSION]


@pytest.mark.skipif(not S3A.jars, reason="tests.object_stores.s3a_closure has not written them")
def test_an_offline_folder_without_the_jars_for_s3_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as missing:
        jar_paths(S3A, tmp_path)
    said = str(missing.value)
    assert said.startswith(f"{tmp_path} lacks {len(S3A.jars)} jars, hadoop-aws-")
    assert "`python -P -m pipelines.spark.jars --s3` prints where" in said


@pytest.mark.skipif(not S3A.jars, reason="tests.object_stores.s3a_closure has not written them")
@pytest.mark.slow
def test_the_jars_for_s3_are_fetched_when_they_are_asked_for(fresh: Path) -> None:
    ran = run_jars("--s3")
    stdout, stderr = ran.communicate(timeout=600)
    assert ran.returncode == 0, stderr
    paths = [Path(name) for name in stdout.strip().split(",")]
    assert [path.name for path in paths] == [*NAMES, *(jar.file_name for jar in S3A.jars)]
    assert all(path.is_file() for path in paths)
    assert f"fetching s3a's {len(S3A.jars)} jars" in stderr
