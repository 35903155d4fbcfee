"""Real Kafka as the yardstick: its jars, its kafka-dump-log, and its classes in process."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

from pipelines.jars import cache_dir
from pipelines.java import find_java

VERSION = "4.1.1"
_DRIVER = Path(__file__).with_name("JvmDecode.java")
_MODULE = f"""<ivy-module version="2.0">
  <info organisation="kraftlake" module="bench"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{VERSION}"
      conf="default->runtime,master"/>
  </dependencies>
</ivy-module>
"""


def class_path() -> str:
    """Kafka's jars, fetched once into the cache beside Delta's by the Ivy inside pyspark."""
    folder = cache_dir().parent / f"kafka-{VERSION}"
    if not list(folder.glob("kafka_2.13-*.jar")):
        _fetch(folder)
    return f"{folder}/*"


def _fetch(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (ivy,) = (Path(spec.origin).parent / "jars").glob("ivy-*.jar")
    settings, module = folder / "ivysettings.xml", folder / "ivy.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="only"/>'
        f'<caches defaultCacheDir="{folder}/ivy"/>'
        '<resolvers><ibiblio name="only" m2compatible="true"/></resolvers></ivysettings>'
    )
    module.write_text(_MODULE)
    subprocess.run(
        [
            str(find_java().executable),
            f"-Divy.default.ivy.user.dir={folder}/ivy-user",
            *("-jar", str(ivy), "-settings", str(settings), "-ivy", str(module)),
            *("-confs", "default", "-types", "jar", "-warn"),
            *("-retrieve", f"{folder}/[artifact]-[revision].[ext]"),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def dump_log_command(segment: Path) -> list[str]:
    """kafka-dump-log with the metadata decoder, every record printed."""
    return [
        str(find_java().executable),
        *("-cp", class_path(), "kafka.tools.DumpLogSegments"),
        *("--cluster-metadata-decoder", "--print-data-log", "--files", str(segment)),
    ]


def in_process(segment: Path, mode: str, passes: int) -> list[float]:
    """Seconds of each pass of JvmDecode over the segment; the first ones warm the JVM up."""
    ran = subprocess.run(
        [
            str(find_java().executable),
            *("-cp", class_path(), str(_DRIVER), str(segment), mode, str(passes)),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(line.split()[1]) for line in ran.stdout.splitlines()]
